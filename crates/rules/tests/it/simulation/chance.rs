//! Chance from a seed: SplitMix64, enough for a simulation and the same on every machine.

#[derive(Debug, Clone)]
pub(crate) struct Chance(u64);

impl Chance {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ 0xD1B5_4A32_D192_ED03)
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    /// From `low` up to and without `high`.
    pub(crate) fn between(&mut self, low: i64, high: i64) -> i64 {
        let span = u64::try_from(high - low).unwrap();
        low + i64::try_from(self.next() % span).unwrap()
    }

    /// From 0 up to and without `high`.
    pub(crate) fn below(&mut self, high: u64) -> u64 {
        self.next() % high
    }

    /// Whether something happens that happens so often in a hundred.
    pub(crate) fn percent(&mut self, of_hundred: i64) -> bool {
        self.between(0, 100) < of_hundred
    }

    pub(crate) fn one_of<T: Copy>(&mut self, choices: &[T]) -> T {
        let last = i64::try_from(choices.len()).unwrap();
        choices[usize::try_from(self.between(0, last)).unwrap()]
    }
}
