//! What goes into a link comes out of it; what else comes is refused in words.

use proptest::prelude::*;

use super::*;
use crate::{
    Mark,
    document::{arbitrary, example},
};

fn sealed(json: &str) -> Vec<u8> {
    let mut payload = crc32(json.as_bytes()).to_le_bytes().to_vec();
    payload.extend(json.bytes());
    payload
}

#[test]
fn at_one_nanosecond_a_document_comes_back_as_it_was() {
    let document = example::document();
    let encoded = encodings(&document).next().unwrap().unwrap();
    assert_eq!(encoded.resolution, Nanos(1));
    let fragment = fragment(&encoded.payload);
    assert!(fragment.starts_with("#1."));
    assert_eq!(compressed_from_fragment(&fragment), Ok(encoded.payload.clone()));
    assert_eq!(
        compressed_from_fragment(&fragment[1..]),
        Ok(encoded.payload.clone())
    );
    assert_eq!(decode(&encoded.payload), Ok(document));
}

#[test]
fn four_arms_of_twenty_samples_fit_at_one_nanosecond() {
    let mut document = example::with_samples(20);
    document.arms.truncate(4);
    for arm in &mut document.arms {
        arm.samples.truncate(20);
    }
    // Random digits, the worst there is, compress to 46 %, and base64 adds a third; all else compresses better.
    let payload = encode(&document, Nanos(1)).unwrap();
    assert!(payload.len() * 5 / 8 <= LONGEST_FRAGMENT, "{}", payload.len());
}

#[test]
fn coarser_times_are_at_most_half_a_step_off_and_say_so() {
    let document = example::document();
    let lengths: Vec<_> = encodings(&document)
        .map(|encoded| encoded.unwrap().payload.len())
        .collect();
    assert!(
        lengths.is_sorted_by(|finer, coarser| finer > coarser),
        "{lengths:?}"
    );
    let read = decode(&encode(&document, Nanos(10_000)).unwrap()).unwrap();
    assert_eq!(read.vantage.clock_step_ns, Nanos(10_000));
    for (read, original) in read.arms.iter().zip(&document.arms) {
        assert_eq!(read.samples.len(), original.samples.len());
        for (read, original) in read.samples.iter().zip(&original.samples) {
            for (mark, time) in original.marks.iter() {
                assert!(read.marks.at(mark).unwrap().0.abs_diff(time.0) <= 5_000);
            }
        }
    }
}

#[test]
fn a_cut_link_another_version_and_no_link_are_told_apart() {
    let payload = encode(&example::document(), Nanos(1)).unwrap();
    let cut = &payload[..payload.len() - 1];
    assert_eq!(decode(cut), Err(LinkError::Cut));
    for short in 0..4 {
        assert_eq!(decode(&payload[..short]), Err(LinkError::Cut));
    }
    let mut changed = payload.clone();
    changed[99] ^= 1;
    assert_eq!(decode(&changed), Err(LinkError::Cut));
    for (fragment, error) in [
        ("", LinkError::NotAResult),
        ("#", LinkError::NotAResult),
        ("#section.2", LinkError::NotAResult),
        ("#2.AAAA", LinkError::Version("2".into())),
        ("#1.A", LinkError::Cut),
        ("#1.AA!A", LinkError::Cut),
    ] {
        assert_eq!(compressed_from_fragment(fragment), Err(error), "{fragment}");
    }
    assert!(matches!(
        decode(&sealed(r#"{"schema":2,"arms":7}"#)),
        Err(LinkError::Version(_))
    ));
    assert!(matches!(decode(&sealed("{}")), Err(LinkError::Invalid(_))));
    assert!(matches!(
        decode(&sealed(&"[".repeat(100_000))),
        Err(LinkError::Invalid(_))
    ));
}

#[test]
fn a_small_payload_cannot_become_a_huge_document() {
    let document = example::document();
    let packed = wire::to_text(&Packed::from_document(&document, Nanos(1)).unwrap());
    let base: serde_json::Value = serde_json::from_str(&packed).unwrap();
    let refused = |change: &dyn Fn(&mut serde_json::Value)| {
        let mut value = base.clone();
        change(&mut value);
        decode(&sealed(&value.to_string())).unwrap_err()
    };
    let constant_arm = |samples: u64, header: usize| {
        serde_json::json!({ "source": "probe", "protocol": "h1", "temperature": "cold", "samples": samples,
                            "facts": { "headers": { "c": [["server", "x".repeat(header)]] } } })
    };
    assert_eq!(
        refused(&|v| v["arms"] = vec![constant_arm(4_000_000_000, 1)].into()),
        LinkError::TooLarge
    );
    assert_eq!(
        refused(&|v| v["arms"] = vec![constant_arm(3_000, 16_000)].into()),
        LinkError::TooLarge
    );
    assert_eq!(
        refused(&|v| v["arms"] = vec![constant_arm(1, 1); 25].into()),
        LinkError::TooLarge
    );
    for change in [
        (&|v: &mut serde_json::Value| v["arms"][0]["samples"] = 3.into()) as &dyn Fn(&mut serde_json::Value),
        &|v| v["resolution"] = 7.into(),
        &|v| v["resolution"] = 0.into(),
        &|v| v["plan"]["samples"] = 0.into(),
        &|v| v["arms"][0]["marks"]["start"] = serde_json::json!({ "c": -1 }),
        &|v| v["arms"][0]["marks"]["end"] = serde_json::json!({ "c": i64::MAX }),
        &|v| v["arms"][0]["seq"] = serde_json::json!({ "c": -1 }),
        &|v| v["arms"][1] = v["arms"][0].clone(),
        &|v| v["arms"][0]["facts"]["status"] = serde_json::json!({}),
    ] {
        let error = refused(change);
        assert!(matches!(error, LinkError::Invalid(_)), "{error}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn any_document_comes_back_as_it_was(document in arbitrary::document()) {
        let payload = encode(&document, Nanos(1)).unwrap();
        prop_assert_eq!(decode(&payload).unwrap(), document);
    }

    #[test]
    fn rounded_marks_keep_their_order(document in arbitrary::document(), index in 0_usize..4) {
        let resolution = RESOLUTIONS[index];
        let read = decode(&encode(&document, resolution).unwrap()).unwrap();
        for (read, original) in read.arms.iter().zip(&document.arms) {
            for (read, original) in read.samples.iter().zip(&original.samples) {
                for mark in Mark::ALL {
                    let (read, original) = (read.marks.at(mark), original.marks.at(mark));
                    prop_assert_eq!(read.is_some(), original.is_some());
                    if let Some((read, original)) = read.zip(original) {
                        prop_assert!(read.0.abs_diff(original.0) <= resolution.0 / 2);
                    }
                }
            }
        }
    }

    #[test]
    fn no_payload_and_no_fragment_makes_it_panic(
        bytes in proptest::collection::vec(any::<u8>(), 0..200),
        json in r#"[{}\[\]"a-z0-9:,-]{0,80}"#,
        fragment in ".{0,40}",
    ) {
        decode(&bytes).unwrap_err();
        decode(&sealed(&json)).unwrap_err();
        prop_assert!(compressed_from_fragment(&fragment).is_err() || fragment.contains("1."));
    }
}
