//! A small sorted map: for keys of which there are a dozen, such as marks and phases.
//!
//! A B-tree is made for thousands of keys; for a dozen it takes more time and memory, and much more code, which the page has
//! to carry over the network.

use std::{fmt, marker::PhantomData, ops::Index, slice, vec};

use serde::{
    Deserialize, Deserializer, Serialize, Serializer,
    de::{MapAccess, Visitor},
};

/// Keys with values, in the order of the keys.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Map<K, V>(Vec<(K, V)>);

impl<K, V> Default for Map<K, V> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<K: Ord, V> Map<K, V> {
    /// Without any key.
    pub fn new() -> Self {
        Self::default()
    }

    /// The value of `key`.
    pub fn get(&self, key: &K) -> Option<&V> {
        self.0
            .iter()
            .find(|(known, _)| known == key)
            .map(|(_, value)| value)
    }

    /// The value of `key`, to change it.
    pub fn get_mut(&mut self, key: &K) -> Option<&mut V> {
        self.0
            .iter_mut()
            .find(|(known, _)| known == key)
            .map(|(_, value)| value)
    }

    /// Whether `key` has a value.
    pub fn contains_key(&self, key: &K) -> bool {
        self.get(key).is_some()
    }

    /// Gives `key` a value; gives back the one it had.
    pub fn insert(&mut self, key: K, value: V) -> Option<V> {
        let at = self
            .0
            .iter()
            .position(|(known, _)| *known >= key)
            .unwrap_or(self.0.len());
        if let Some((_, known)) = self.0.get_mut(at).filter(|(known, _)| *known == key) {
            return Some(std::mem::replace(known, value));
        }
        self.0.insert(at, (key, value));
        None
    }

    /// The value of `key`, to change it; put in where there is none.
    pub fn or_default(&mut self, key: K) -> &mut V
    where
        V: Default,
    {
        let at = self
            .0
            .iter()
            .position(|(known, _)| *known >= key)
            .unwrap_or(self.0.len());
        if self.0.get(at).is_none_or(|(known, _)| *known != key) {
            self.0.insert(at, (key, V::default()));
        }
        &mut self.0[at].1
    }

    /// Takes `key` out; gives back the value it had.
    pub fn remove(&mut self, key: &K) -> Option<V> {
        let at = self.0.iter().position(|(known, _)| known == key)?;
        Some(self.0.remove(at).1)
    }
}

impl<K, V> Map<K, V> {
    /// How many keys there are.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there is no key.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Takes out everything.
    pub fn clear(&mut self) {
        self.0.clear();
    }

    /// The keys with their values, in the order of the keys.
    pub fn iter(&self) -> Iter<'_, K, V> {
        self.0.iter().map(|(key, value)| (key, value))
    }

    /// The keys with their values, in the order of the keys, to change the values.
    pub fn iter_mut(&mut self) -> IterMut<'_, K, V> {
        self.0.iter_mut().map(|(key, value)| (&*key, value))
    }

    /// The keys, in order.
    pub fn keys(&self) -> impl Iterator<Item = &K> {
        self.0.iter().map(|(key, _)| key)
    }

    /// The values, in the order of the keys.
    pub fn values(&self) -> impl Iterator<Item = &V> {
        self.0.iter().map(|(_, value)| value)
    }

    /// The values, in the order of the keys, to change them.
    pub fn values_mut(&mut self) -> impl Iterator<Item = &mut V> {
        self.0.iter_mut().map(|(_, value)| value)
    }
}

/// What [`Map::iter`] gives.
type Iter<'a, K, V> = std::iter::Map<slice::Iter<'a, (K, V)>, fn(&'a (K, V)) -> (&'a K, &'a V)>;

/// What iterating over a changeable map gives.
type IterMut<'a, K, V> = std::iter::Map<slice::IterMut<'a, (K, V)>, fn(&'a mut (K, V)) -> (&'a K, &'a mut V)>;

impl<'a, K, V> IntoIterator for &'a Map<K, V> {
    type Item = (&'a K, &'a V);
    type IntoIter = Iter<'a, K, V>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl<'a, K, V> IntoIterator for &'a mut Map<K, V> {
    type Item = (&'a K, &'a mut V);
    type IntoIter = IterMut<'a, K, V>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter_mut()
    }
}

impl<K, V> IntoIterator for Map<K, V> {
    type Item = (K, V);
    type IntoIter = vec::IntoIter<(K, V)>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}

impl<K: Ord, V> Extend<(K, V)> for Map<K, V> {
    fn extend<I: IntoIterator<Item = (K, V)>>(&mut self, pairs: I) {
        for (key, value) in pairs {
            self.insert(key, value);
        }
    }
}

impl<K: Ord, V> FromIterator<(K, V)> for Map<K, V> {
    fn from_iter<I: IntoIterator<Item = (K, V)>>(pairs: I) -> Self {
        let mut map = Self::new();
        map.extend(pairs);
        map
    }
}

impl<K: Ord, V, const N: usize> From<[(K, V); N]> for Map<K, V> {
    fn from(pairs: [(K, V); N]) -> Self {
        pairs.into_iter().collect()
    }
}

impl<K: Ord, V> Index<&K> for Map<K, V> {
    type Output = V;

    /// # Panics
    /// When `key` has no value, as maps do.
    fn index(&self, key: &K) -> &V {
        match self.get(key) {
            Some(value) => value,
            #[expect(
                clippy::panic,
                reason = "indexing is for keys that are known to be there, as with any map"
            )]
            None => panic!("the map has no such key"),
        }
    }
}

impl<K: Serialize, V: Serialize> Serialize for Map<K, V> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self)
    }
}

impl<'de, K: Deserialize<'de> + Ord, V: Deserialize<'de>> Deserialize<'de> for Map<K, V> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(Reader(PhantomData))
    }
}

struct Reader<K, V>(PhantomData<(K, V)>);

impl<'de, K: Deserialize<'de> + Ord, V: Deserialize<'de>> Visitor<'de> for Reader<K, V> {
    type Value = Map<K, V>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a map")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut access: A) -> Result<Self::Value, A::Error> {
        let mut map = Map::new();
        while let Some((key, value)) = access.next_entry()? {
            map.insert(key, value);
        }
        Ok(map)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn it_is_a_map(pairs in prop::collection::vec((0_u8..12, any::<u16>()), 0..30), gone in 0_u8..12) {
            let mut map: Map<u8, u16> = pairs.iter().copied().collect();
            let mut model: BTreeMap<u8, u16> = pairs.into_iter().collect();
            prop_assert_eq!(map.remove(&gone), model.remove(&gone));
            prop_assert_eq!(map.iter().collect::<Vec<_>>(), model.iter().collect::<Vec<_>>());
            prop_assert_eq!(map.get(&3), model.get(&3));
            let json = serde_json::to_string(&map).unwrap();
            prop_assert_eq!(&json, &serde_json::to_string(&model).unwrap());
            prop_assert_eq!(serde_json::from_str::<Map<u8, u16>>(&json).unwrap(), map);
        }
    }

    #[test]
    fn a_value_is_replaced_and_given_back() {
        let mut map = Map::from([(2, 'b'), (1, 'a')]);
        assert_eq!(map.insert(2, 'c'), Some('b'));
        assert_eq!(map[&2], 'c');
        assert_eq!(map.keys().collect::<Vec<_>>(), [&1, &2]);
    }
}
