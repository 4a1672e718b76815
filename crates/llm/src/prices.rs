//! What calls cost, from a dated table.

use serde::Deserialize;
use warren_model::session::{ModelName, TokenUsage};

use crate::parameters::fits;

/// A table of prices.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Prices {
    /// The day on which the prices were looked up.
    pub date: String,
    price: Vec<Price>,
}

/// In dollars for a million tokens, which is millionths of a dollar for one.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
struct Price {
    model: String,
    input: f64,
    cached_input: Option<f64>,
    cache_write: Option<f64>,
    output: f64,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PricesError {
    #[error("the price table cannot be read: {0}")]
    Syntax(String),
    #[error("the price of `{0}` is not a number from 0 to 1000000")]
    Number(String),
}

impl Prices {
    /// Warren's own table.
    pub fn built_in() -> Self {
        Self::read(include_str!("prices.toml")).expect("a test reads the built-in table")
    }

    /// A table in TOML.
    pub fn read(text: &str) -> Result<Self, PricesError> {
        let prices: Self =
            toml::from_str(text).map_err(|error| PricesError::Syntax(error.message().to_owned()))?;
        let is_sound = |number: f64| (0.0..=1e6).contains(&number);
        let wrong = prices.price.iter().find(|price| {
            let optional = [price.cached_input, price.cache_write];
            let mut all = [price.input, price.output].into_iter().chain(optional.into_iter().flatten());
            !all.all(is_sound)
        });
        wrong.map_or(Ok(()), |price| Err(PricesError::Number(price.model.clone())))?;
        Ok(prices)
    }

    /// What a million tokens cost, read and written, in millionths of a dollar. Nothing where the model has no price.
    pub fn per_million(&self, model: &ModelName) -> Option<(u64, u64)> {
        if model.provider == "scripted" {
            return Some((0, 0));
        }
        let price = self.of(model)?;
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "0 to 10^12, as was checked"
        )]
        let micros = |dollars: f64| (dollars * 1e6).ceil() as u64;
        Some((micros(price.input), micros(price.output)))
    }

    fn of(&self, model: &ModelName) -> Option<&Price> {
        let name = model.model.rsplit('/').next().unwrap_or(&model.model);
        self.price.iter().find(|price| fits(&price.model, name))
    }

    /// What a call costs, in millionths of a dollar, rounded up. Nothing where the model has no price; a script costs
    /// nothing.
    pub fn cost_micros(&self, model: &ModelName, usage: &TokenUsage) -> Option<u64> {
        if model.provider == "scripted" {
            return Some(0);
        }
        let price = self.of(model)?;
        let cached = usage.cached_input_tokens.min(usage.input_tokens);
        let written = usage.cache_write_tokens.min(usage.input_tokens - cached);
        let plain = usage.input_tokens - cached - written;
        #[expect(clippy::cast_precision_loss, reason = "2^53 tokens are more than anybody pays for")]
        let cost = plain as f64 * price.input
            + cached as f64 * price.cached_input.unwrap_or(price.input)
            + written as f64 * price.cache_write.unwrap_or(price.input)
            + usage.output_tokens as f64 * price.output;
        // A hair of a rounding error must not make the next millionth.
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "checked to be positive")]
        let micros = (cost - 1e-6).ceil().max(0.0) as u64;
        Some(micros)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cost(model: &str, usage: TokenUsage) -> Option<u64> {
        Prices::built_in().cost_micros(&model.parse().unwrap(), &usage)
    }

    // A11
    #[test]
    fn a_call_costs_what_the_table_says() {
        let usage = TokenUsage {
            input_tokens: 1_000_000,
            cached_input_tokens: 400_000,
            cache_write_tokens: 100_000,
            output_tokens: 100_000,
            reasoning_tokens: 50_000,
        };
        // 0.5 × 3 + 0.4 × 0.3 + 0.1 × 3.75 + 0.1 × 15 dollars.
        assert_eq!(cost("anthropic/claude-sonnet-4-5", usage), Some(3_495_000));
        assert_eq!(cost("openai/gpt-5.1", usage), Some(1_800_000));
        assert_eq!(cost("router/anthropic/claude-haiku-4-5", TokenUsage::default()), Some(0));
        let one = TokenUsage { input_tokens: 1, ..TokenUsage::default() };
        assert_eq!(cost("openai/gpt-5-nano", one), Some(1));
    }

    // A11
    #[test]
    fn an_unknown_model_has_no_price_and_a_script_costs_nothing() {
        assert_eq!(cost("local/llama3", TokenUsage::default()), None);
        assert_eq!(cost("scripted/tour", TokenUsage { output_tokens: 9, ..TokenUsage::default() }), Some(0));
    }

    // A11: bad input
    #[test]
    fn a_table_that_cannot_be_right_is_refused() {
        let negative = "date = '2026-01-01'\n[[price]]\nmodel = 'x'\ninput = -1.0\noutput = 1.0\n";
        assert_eq!(Prices::read(negative), Err(PricesError::Number("x".to_owned())));
        assert!(matches!(Prices::read("price = []"), Err(PricesError::Syntax(_))));
    }
}
