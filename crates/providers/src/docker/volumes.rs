//! What a box needs of a daemon that shares no directory with us (W83): a volume with the workspace's files, which outlives
//! containers, and one with process 1 and the runner, which all boxes of this Warren have in common.
//!
//! A volume can be written from outside only through a container, and not through one whose root is read-only, as a box's
//! is. So there is a second container that is never started, the filler: process 1 and the owner of the files are put
//! through it. What is there already is looked at first, through the box itself, so that most boxes need none.

use warren_confined_fs::Owner;
use warren_init::WORKSPACE_ROOT;
use warren_workspace::Error;

use super::archive::{self, Entry};
use super::container::Plan;
use super::daemon::{DaemonError, ImageFacts};
use super::identity::{FILLER_NUMBER, Identity, OwnVolume, VolumeContents};
use super::spec::{self, BoxSource, INIT, RUNNER, TOOL};
use crate::boxes::program::{self, Program};

/// Also a sign that they were given away: a new volume has another.
const FILES_MODE: u32 = 0o700;
const ROOT: Owner = Owner { uid: 0, gid: 0 };

impl Plan<'_> {
    /// That of the files, and that of the program.
    pub(super) fn volumes(&self) -> [OwnVolume; 2] {
        let holds = [VolumeContents::Files(self.workspace), VolumeContents::Program(program::mark())];
        holds.map(|holds| OwnVolume { instance: self.maker.folders.instance.clone(), holds })
    }

    pub(super) async fn make_volumes(&self) -> Result<(), Error> {
        for volume in self.volumes() {
            let made = self.maker.daemon.create_volume(&volume).await;
            made.map_err(|error| error.into_opening("making a volume"))?;
        }
        Ok(())
    }

    /// Puts into the volumes of a box what they lack.
    pub(super) async fn fill_volumes(&self, container: &str, image: &ImageFacts) -> Result<(), Error> {
        let daemon = &self.maker.daemon;
        let step = |error: DaemonError| error.into_opening("filling the volumes");
        let _alone = self.maker.filling.lock().await;
        let files = daemon.look_at(container, WORKSPACE_ROOT).await.map_err(step)?;
        // The daemon does not tell whose they are, and the config may have named another user since.
        let has_owner = files.is_some_and(|facts| facts.permissions == FILES_MODE)
            && self.maker.folders.volume_owner(self.workspace) == Some(self.box_user());
        let mut entries = Vec::new();
        for (program, path) in [(Program::Init, INIT), (Program::Runner, RUNNER), (Program::Runner, TOOL)] {
            let contents = program.contents();
            let found = daemon.look_at(container, path).await.map_err(step)?;
            let is_there = found.is_some_and(|facts| {
                facts.bytes == contents.len() as u64 && facts.permissions == program.mode()
            });
            if !is_there {
                let contents = Some(contents);
                entries.push(Entry { name: relative(path), mode: program.mode(), owner: ROOT, contents });
            }
        }
        if !has_owner {
            let (name, owner) = (relative(WORKSPACE_ROOT), self.box_user());
            entries.push(Entry { name, mode: FILES_MODE, owner, contents: None });
        }
        if entries.is_empty() {
            return Ok(());
        }
        let filler = self.make_filler(image).await?;
        let put = daemon.upload(&filler, archive::write(&entries)).await.map_err(step);
        // The next try, or the reaper, finds it otherwise.
        if let Err(error) = daemon.remove(&filler).await {
            tracing::warn!(%error, "a filler container is left to the reaper");
        }
        put?;
        let recorded = self.maker.folders.record_volume_owner(self.workspace, self.box_user());
        if let Err(error) = recorded {
            // Then it is given to them again next time.
            tracing::warn!(%error, "whom a volume was given to could not be recorded");
        }
        Ok(())
    }

    async fn make_filler(&self, image: &ImageFacts) -> Result<String, Error> {
        let instance = self.maker.folders.instance.clone();
        let identity = Identity { instance, workspace: self.workspace, generation: FILLER_NUMBER };
        let [files, program] = self.volumes().map(|volume| volume.name());
        let source = BoxSource::Volumes { files: &files, program: &program };
        let request = spec::filler(&self.facts(&identity, image, source), &files, &program);
        let created = self.maker.daemon.create(&identity, &request).await;
        created.map_err(|error| error.into_opening("filling the volumes"))
    }
}

fn relative(path: &str) -> &str {
    path.trim_start_matches('/')
}
