//! Which containers are left over (W76): decided on paper from what the daemon lists.

use std::collections::{BTreeMap, BTreeSet};

use warren_model::WorkspaceId;

use super::identity::{Identity, OwnVolume, VolumeContents};

/// A container of this instance.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Listed {
    pub(super) id: String,
    pub(super) identity: Identity,
    pub(super) is_running: bool,
}

/// What this process knows of a workspace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum BoxUse {
    /// A container is being made or looked for: anything of this workspace may be the one.
    Opening,
    /// This container is in use.
    Open(String),
}

/// Ids of containers that belong to nobody: their workspace is neither live nor open here; or another container is in use
/// in their place; or they have ended and nobody has taken them up.
pub(super) fn left_over<'a>(
    listed: &'a [Listed],
    live: &BTreeSet<WorkspaceId>,
    open_boxes: &BTreeMap<WorkspaceId, BoxUse>,
) -> Vec<&'a str> {
    let is_left_over = |container: &Listed| match open_boxes.get(&container.identity.workspace) {
        Some(BoxUse::Opening) => false,
        Some(BoxUse::Open(id)) => *id != container.id,
        None => !container.is_running || !live.contains(&container.identity.workspace),
    };
    listed.iter().filter(|container| is_left_over(container)).map(|container| container.id.as_str()).collect()
}

/// Volumes that belong to nobody: files of a workspace that is neither live nor open here, nor kept (`is_kept`: it has a
/// record on this host), and programs of other versions, which those that still use them do not give up.
pub(super) fn left_over_volumes<'a>(
    listed: &'a [OwnVolume],
    live: &BTreeSet<WorkspaceId>,
    open_boxes: &BTreeMap<WorkspaceId, BoxUse>,
    is_kept: impl Fn(WorkspaceId) -> bool,
    program: &str,
) -> Vec<&'a OwnVolume> {
    let is_left_over = |volume: &OwnVolume| match &volume.holds {
        VolumeContents::Files(workspace) => {
            !live.contains(workspace) && !open_boxes.contains_key(workspace) && !is_kept(*workspace)
        }
        VolumeContents::Program(mark) => mark != program,
    };
    listed.iter().filter(|volume| is_left_over(volume)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    // W76
    #[test]
    fn only_what_belongs_to_no_workspace_is_left_over() {
        let workspace = |last: u8| format!("01890a5d-ac96-774b-bcce-b302099a80{last:02x}").parse().unwrap();
        let listed = |id: &str, of: u8, is_running: bool| Listed {
            id: id.into(),
            identity: Identity { instance: "i".into(), workspace: workspace(of), generation: 1 },
            is_running,
        };
        let all = [
            listed("orphan", 1, true),
            listed("orphan, never started", 1, false),
            listed("living, not taken up yet", 2, true),
            listed("of a live workspace, ended", 2, false),
            listed("in use", 3, true),
            listed("replaced", 3, true),
            listed("in use, row not seen yet", 4, true),
            listed("being made", 5, false),
        ];
        let live = [2, 3].map(workspace).into();
        let open = |id: &str| BoxUse::Open(id.into());
        let open_boxes = BTreeMap::from([
            (workspace(3), open("in use")),
            (workspace(4), open("in use, row not seen yet")),
            (workspace(5), BoxUse::Opening),
        ]);
        assert_eq!(
            left_over(&all, &live, &open_boxes),
            ["orphan", "orphan, never started", "of a live workspace, ended", "replaced"]
        );
    }

    // W76, W83
    #[test]
    fn files_of_a_workspace_that_is_live_held_or_kept_are_never_left_over() {
        let workspace = |last: u8| format!("01890a5d-ac96-774b-bcce-b302099a80{last:02x}").parse().unwrap();
        let volume = |holds: VolumeContents| OwnVolume { instance: "i".into(), holds };
        let files = (1..=4).map(|number| volume(VolumeContents::Files(workspace(number))));
        let programs = ["now", "before"].map(|mark| volume(VolumeContents::Program(mark.into())));
        let all: Vec<_> = files.chain(programs).collect();
        let live = [2].map(workspace).into();
        let open_boxes = BTreeMap::from([(workspace(3), BoxUse::Opening)]);
        let is_kept = |id: WorkspaceId| id == workspace(4);
        assert_eq!(left_over_volumes(&all, &live, &open_boxes, is_kept, "now"), [&all[0], &all[5]]);
    }
}
