//! The command line of `warren schedule`.

use clap::{ArgGroup, Args, Subcommand, ValueEnum};

use super::duration::whole_seconds;

#[derive(Debug, Subcommand)]
pub(crate) enum ScheduleCommand {
    /// Have something said to a workspace again and again
    Add(AddScheduleArguments),
    /// List schedules
    Ls {
        /// Those of this workspace, by id or name [default: all]
        workspace: Option<String>,
    },
    /// Show a schedule with its next slots
    Show {
        /// By id, by name where only one has it, or as WORKSPACE/NAME
        #[arg(value_name = "SCHEDULE")]
        id: String,
    },
    /// Pause a schedule; slots that pass meanwhile are not missed
    Pause {
        /// By id, by name where only one has it, or as WORKSPACE/NAME
        #[arg(value_name = "SCHEDULE")]
        id: String,
    },
    /// Resume a schedule from now on
    Resume {
        /// By id, by name where only one has it, or as WORKSPACE/NAME
        #[arg(value_name = "SCHEDULE")]
        id: String,
    },
    /// Have a schedule fire now
    Run {
        /// By id, by name where only one has it, or as WORKSPACE/NAME
        #[arg(value_name = "SCHEDULE")]
        id: String,
    },
    /// Remove a schedule and the record of its runs
    Rm {
        /// By id, by name where only one has it, or as WORKSPACE/NAME
        #[arg(value_name = "SCHEDULE")]
        id: String,
    },
    /// Show what became of a schedule's slots, the newest first
    History {
        /// By id, by name where only one has it, or as WORKSPACE/NAME
        #[arg(value_name = "SCHEDULE")]
        id: String,
        /// At most so many
        #[arg(long, value_name = "COUNT", default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..=500))]
        limit: u32,
    },
    /// Show when a cron or an interval would fire, without making a schedule
    Next(NextArguments),
}

#[derive(Debug, Args)]
pub(crate) struct AddScheduleArguments {
    /// By id or name
    pub(crate) workspace: String,
    /// Its own within the workspace
    pub(crate) name: String,
    /// What is said to the agent
    pub(crate) prompt: String,
    #[command(flatten)]
    pub(crate) timing: TimingArguments,
    /// Each slot fires up to so much later, such as `5m`; a bare number is seconds
    #[arg(long, value_name = "TIME", value_parser = whole_seconds)]
    pub(crate) jitter: Option<u32>,
    /// What becomes of slots that passed while nobody could fire them
    #[arg(long, value_enum, default_value_t = Missed::Once)]
    pub(crate) missed: Missed,
    /// What becomes of a slot while the task of the one before is not over
    #[arg(long, value_enum, default_value_t = Overlap::Skip)]
    pub(crate) overlap: Overlap,
}

#[derive(Debug, Args)]
pub(crate) struct NextArguments {
    #[command(flatten)]
    pub(crate) timing: TimingArguments,
    /// How many slots
    #[arg(long, value_name = "COUNT", default_value_t = 10, value_parser = clap::value_parser!(u32).range(1..=100))]
    pub(crate) count: u32,
}

#[derive(Debug, Args)]
#[command(group = ArgGroup::new("when").required(true).args(["cron", "every"]))]
pub(crate) struct TimingArguments {
    /// Five fields, or six with seconds in front, such as `0 9 * * 1-5`
    #[arg(long)]
    pub(crate) cron: Option<String>,
    /// Again and again after this time, such as `90s`, `10m` or `1h`; a bare number is seconds
    #[arg(long, value_name = "TIME", value_parser = whole_seconds)]
    pub(crate) every: Option<u32>,
    /// Of the IANA database, such as `Europe/Zurich` [default: UTC]
    #[arg(long, value_name = "ZONE", requires = "cron")]
    pub(crate) time_zone: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Missed {
    /// None of them fires
    Skip,
    /// The last one fires, for all
    Once,
    /// Each fires, up to a limit
    All,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Overlap {
    /// It does not fire
    Skip,
    /// It fires when that task is over
    Queue,
    /// It fires all the same
    Allow,
}
