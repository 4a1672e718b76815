//! What models take and what they refuse, by patterns of their names. What a model refuses is not sent, and told.

/// How a model is told how hard to think.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Effort {
    /// It cannot be told.
    None,
    /// Anthropic's `output_config.effort`.
    OutputConfig,
    /// Anthropic's `thinking.budget_tokens`, before there was the other.
    ThinkingBudget,
    /// OpenAI's `reasoning.effort`, which Chat Completions call `reasoning_effort`.
    Reasoning,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Parameters {
    /// Where the wire wants a number and the caller names none.
    pub(crate) max_output_tokens: u32,
    pub(crate) effort: Effort,
    pub(crate) refuses: &'static [&'static str],
    /// What Chat Completions call the most tokens of an answer.
    pub(crate) chat_max_tokens: &'static str,
}

const REASONING_REFUSES: &[&str] = &[
    "temperature",
    "top_p",
    "presence_penalty",
    "frequency_penalty",
    "logprobs",
    "top_logprobs",
    "logit_bias",
];

const CLAUDE: Parameters = Parameters {
    max_output_tokens: 32_000,
    effort: Effort::OutputConfig,
    refuses: &[],
    chat_max_tokens: "max_tokens",
};
const REASONING: Parameters = Parameters {
    max_output_tokens: 32_000,
    effort: Effort::Reasoning,
    refuses: REASONING_REFUSES,
    chat_max_tokens: "max_completion_tokens",
};
const OTHER: Parameters = Parameters {
    max_output_tokens: 8_192,
    effort: Effort::None,
    refuses: &[],
    chat_max_tokens: "max_tokens",
};

/// The first that fits. `*` stands for any characters.
const TABLE: &[(&str, Parameters)] = &[
    ("claude-3-haiku*", Parameters { max_output_tokens: 4_096, effort: Effort::None, ..CLAUDE }),
    ("claude-3-opus*", Parameters { max_output_tokens: 4_096, effort: Effort::None, ..CLAUDE }),
    ("claude-3-5-*", Parameters { max_output_tokens: 8_192, effort: Effort::None, ..CLAUDE }),
    ("claude-3-7-*", Parameters { effort: Effort::ThinkingBudget, ..CLAUDE }),
    ("claude-opus-4-5*", CLAUDE),
    ("claude-haiku-4-*", Parameters { effort: Effort::ThinkingBudget, ..CLAUDE }),
    ("claude-sonnet-4-5*", Parameters { effort: Effort::ThinkingBudget, ..CLAUDE }),
    ("claude-sonnet-4-0*", Parameters { effort: Effort::ThinkingBudget, ..CLAUDE }),
    ("claude-sonnet-4-2*", Parameters { effort: Effort::ThinkingBudget, ..CLAUDE }),
    ("claude-opus-4-0*", Parameters { effort: Effort::ThinkingBudget, ..CLAUDE }),
    ("claude-opus-4-1*", Parameters { effort: Effort::ThinkingBudget, ..CLAUDE }),
    ("claude-opus-4-2*", Parameters { effort: Effort::ThinkingBudget, ..CLAUDE }),
    ("claude-*", CLAUDE),
    ("gpt-5-chat*", Parameters { chat_max_tokens: "max_completion_tokens", ..OTHER }),
    ("gpt-4*", Parameters { chat_max_tokens: "max_completion_tokens", max_output_tokens: 16_384, ..OTHER }),
    ("gpt-3*", Parameters { max_output_tokens: 4_096, ..OTHER }),
    ("gpt-*", REASONING),
    ("o1*", REASONING),
    ("o3*", REASONING),
    ("o4*", REASONING),
    ("codex-*", REASONING),
    ("*", OTHER),
];

impl Parameters {
    pub(crate) fn of(model: &str) -> Self {
        // Routers put the maker before the name.
        let name = model.rsplit('/').next().unwrap_or(model);
        TABLE.iter().find(|(pattern, _)| fits(pattern, name)).map_or(OTHER, |(_, parameters)| *parameters)
    }
}

/// Whether `name` fits a pattern in which `*` stands for any characters.
pub(crate) fn fits(pattern: &str, name: &str) -> bool {
    let Some((start, rest)) = pattern.split_once('*') else { return pattern == name };
    let Some(name) = name.strip_prefix(start) else { return false };
    (0..=name.len()).filter(|at| name.is_char_boundary(*at)).any(|at| fits(rest, &name[at..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    // A10
    #[test]
    fn the_table_knows_what_a_model_refuses() {
        assert!(Parameters::of("gpt-5.1").refuses.contains(&"temperature"));
        assert!(Parameters::of("openai/o3-mini").refuses.contains(&"temperature"));
        assert!(Parameters::of("gpt-4.1").refuses.is_empty());
        assert_eq!(Parameters::of("claude-sonnet-4-5-20250929").effort, Effort::ThinkingBudget);
        assert_eq!(Parameters::of("claude-opus-4-6").effort, Effort::OutputConfig);
        assert_eq!(Parameters::of("llama3.2:3b"), OTHER);
    }

    #[test]
    fn a_star_stands_for_any_characters() {
        for (pattern, name, expected) in [
            ("*", "", true),
            ("a*c", "abbc", true),
            ("a*c", "abb", false),
            ("a", "ab", false),
            ("*ü*", "xüy", true),
        ] {
            assert_eq!(fits(pattern, name), expected, "{pattern} {name}");
        }
    }
}
