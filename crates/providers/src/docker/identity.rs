//! Which containers are ours, and whose: labels and names.
//!
//! ```text
//!   name    warren-<instance>-<workspace>-<generation>
//!   labels  dev.warren.instance, dev.warren.workspace, dev.warren.generation
//! ```
//!
//! Volumes, which a daemon elsewhere keeps for us, are told in the same way: `warren-<instance>-<workspace>` holds the files
//! of a workspace, `warren-<instance>-program-<mark>` a process 1.
//!
//! The name follows from the labels, so that a create whose answer was lost can be asked for again: the daemon then says
//! that the name is taken, and by whom. A container whose name and labels do not agree is not ours, whatever it claims.

use std::collections::HashMap;

use warren_model::WorkspaceId;

pub(super) const INSTANCE: &str = "dev.warren.instance";
pub(super) const WORKSPACE: &str = "dev.warren.workspace";
pub(super) const GENERATION: &str = "dev.warren.generation";

const PROGRAM: &str = "dev.warren.program";

/// The container that is never started: volumes are filled through it. Those that are count from 1.
pub(super) const FILLER_NUMBER: u64 = 0;

/// One volume of one Warren.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct OwnVolume {
    pub(super) instance: String,
    pub(super) holds: VolumeContents,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum VolumeContents {
    Files(WorkspaceId),
    /// The process 1 with this mark.
    Program(String),
}

impl OwnVolume {
    pub(super) fn name(&self) -> String {
        match &self.holds {
            VolumeContents::Files(workspace) => format!("warren-{}-{workspace}", self.instance),
            VolumeContents::Program(mark) => format!("warren-{}-program-{mark}", self.instance),
        }
    }

    pub(super) fn labels(&self) -> HashMap<String, String> {
        let label = match &self.holds {
            VolumeContents::Files(workspace) => (WORKSPACE.to_owned(), workspace.to_string()),
            VolumeContents::Program(mark) => (PROGRAM.to_owned(), mark.clone()),
        };
        HashMap::from([(INSTANCE.to_owned(), self.instance.clone()), label])
    }

    /// Whose files it holds, if any.
    pub(super) const fn workspace(&self) -> Option<WorkspaceId> {
        match self.holds {
            VolumeContents::Files(workspace) => Some(workspace),
            VolumeContents::Program(_) => None,
        }
    }

    /// Absent: not a volume that `instance` made.
    pub(super) fn read(instance: &str, name: &str, labels: &HashMap<String, String>) -> Option<Self> {
        let holds = match (labels.get(WORKSPACE), labels.get(PROGRAM)) {
            (Some(workspace), None) => VolumeContents::Files(workspace.parse().ok()?),
            (None, Some(mark)) => VolumeContents::Program(mark.clone()),
            _ => return None,
        };
        let instance = labels.get(INSTANCE).filter(|label| *label == instance)?.clone();
        Some(Self { instance, holds }).filter(|volume| volume.name() == name)
    }
}

/// One container of one workspace of one Warren.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Identity {
    pub(super) instance: String,
    pub(super) workspace: WorkspaceId,
    /// Counts the containers that this workspace has had, from 1.
    pub(super) generation: u64,
}

impl Identity {
    pub(super) fn name(&self) -> String {
        format!("warren-{}-{}-{}", self.instance, self.workspace, self.generation)
    }

    pub(super) fn labels(&self) -> HashMap<String, String> {
        HashMap::from([
            (INSTANCE.to_owned(), self.instance.clone()),
            (WORKSPACE.to_owned(), self.workspace.to_string()),
            (GENERATION.to_owned(), self.generation.to_string()),
        ])
    }

    /// Absent: not a container that `instance` made. The daemon puts a slash before names.
    pub(super) fn read(instance: &str, names: &[String], labels: &HashMap<String, String>) -> Option<Self> {
        let identity = Self {
            instance: labels.get(INSTANCE).filter(|label| *label == instance)?.clone(),
            workspace: labels.get(WORKSPACE)?.parse().ok()?,
            generation: labels.get(GENERATION)?.parse().ok()?,
        };
        let name = identity.name();
        names.iter().any(|given| given.strip_prefix('/').unwrap_or(given) == name).then_some(identity)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // W76
    #[test]
    fn only_a_container_whose_name_and_labels_agree_is_ours() {
        let workspace: WorkspaceId = "01890a5d-ac96-774b-bcce-b302099a8057".parse().unwrap();
        let identity = Identity { instance: "0a1b".into(), workspace, generation: 3 };
        let (name, labels) = (format!("/{}", identity.name()), identity.labels());
        let read = |instance: &str, name: &str, labels: &HashMap<_, _>| {
            Identity::read(instance, &[name.to_owned()], labels)
        };
        assert_eq!(read("0a1b", &name, &labels), Some(identity));
        assert_eq!(read("ffff", &name, &labels), None);
        assert_eq!(read("0a1b", "/somebody-elses", &labels), None);
        for label in [INSTANCE, WORKSPACE, GENERATION] {
            let mut fewer = labels.clone();
            fewer.remove(label);
            assert_eq!(read("0a1b", &name, &fewer), None, "{label}");
            let mut other = labels.clone();
            other.insert(label.to_owned(), "9".to_owned());
            assert_eq!(read("0a1b", &name, &other), None, "{label}");
        }
    }

    // W76, W83
    #[test]
    fn only_a_volume_whose_name_and_labels_agree_is_ours() {
        let workspace: WorkspaceId = "01890a5d-ac96-774b-bcce-b302099a8057".parse().unwrap();
        for holds in [VolumeContents::Files(workspace), VolumeContents::Program("0011".into())] {
            let volume = OwnVolume { instance: "0a1b".into(), holds };
            let (name, labels) = (volume.name(), volume.labels());
            assert_eq!(OwnVolume::read("0a1b", &name, &labels), Some(volume));
            assert_eq!(OwnVolume::read("ffff", &name, &labels), None);
            assert_eq!(OwnVolume::read("0a1b", "somebody-elses", &labels), None);
            for label in labels.keys() {
                let mut fewer = labels.clone();
                fewer.remove(label);
                assert_eq!(OwnVolume::read("0a1b", &name, &fewer), None, "{label}");
            }
        }
    }
}
