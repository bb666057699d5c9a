//! The facts of an arm's samples in columns.

use super::{LinkError, column::Column};
use crate::{ConnectionUse, Facts, Nanos, RttSource, wire_struct};

/// Declares a column for each field. That all fields are named is checked by the compiler: [`Facts`] is built without `..`.
macro_rules! columns {
    (optional: $($field:ident: $kind:ty,)+; lists: $($list:ident: $item:ty,)+) => {
        /// A column for each field of [`Facts`].
        #[derive(Clone, Debug, Default, PartialEq)]
        pub(super) struct FactColumns {
            $($field: Option<Column<$kind>>,)+
            $($list: Option<Column<Vec<$item>>>,)+
        }

        wire_struct!(FactColumns { | $($field),+, $($list),+ });

        impl FactColumns {
            pub(super) fn from_facts(facts: &[Facts]) -> Self {
                Self {
                    $($field: Column::from_values(facts.iter().map(|facts| facts.$field.clone()).collect()),)+
                    $($list: Column::from_values(
                        facts.iter().map(|facts| Some(facts.$list.clone()).filter(|list| !list.is_empty())).collect(),
                    ),)+
                }
            }

            /// The facts of the sample at `index`.
            pub(super) fn at(&self, index: usize) -> Facts {
                Facts {
                    $($field: self.$field.as_ref().and_then(|column| column.at(index)),)+
                    $($list: self.$list.as_ref().and_then(|column| column.at(index)).unwrap_or_default(),)+
                }
            }

            /// As [`Column::spread`], over all columns.
            pub(super) fn spread(&self, samples: usize) -> Result<usize, LinkError> {
                let mut bytes = 0_usize;
                $(if let Some(column) = &self.$field {
                    bytes = bytes.saturating_add(column.spread(samples)?);
                })+
                $(if let Some(column) = &self.$list {
                    bytes = bytes.saturating_add(column.spread(samples)?);
                })+
                Ok(bytes)
            }
        }
    };
}

columns! {
    optional:
        status: u16,
        http_version: String,
        address: String,
        connection: ConnectionUse,
        tls: bool,
        hidden: String,
        dns_skipped: String,
        tls_version: String,
        tls_cipher: String,
        tls_group: String,
        certificate_chain_bytes: u64,
        certificate_count: u32,
        public_root: bool,
        certificate_error: String,
        redirect: String,
        encoded_bytes: u64,
        decoded_bytes: u64,
        min_rtt_ns: Nanos,
        min_rtt_source: RttSource,
        smoothed_rtt_ns: Nanos,
        packets_lost: u64,
        packets_retransmitted: u64,
    ;
    lists:
        interim: u16,
        headers: (String, String),
        notes: String,
}
