//! Routes of schedules.

use reqwest::Method;

use super::{Client, Error};
use crate::{
    CreateSchedule, PatchSchedule, PreviewSchedule, Schedule, SchedulePage, SchedulePreview, ScheduleRun,
    ScheduleRunPage,
};

impl Client {
    pub async fn create_schedule(
        &self,
        workspace_id: &str,
        schedule: &CreateSchedule,
    ) -> Result<Schedule, Error> {
        self.answer(self.request(Method::POST, &["workspaces", workspace_id, "schedules"]).json(schedule))
            .await
    }

    /// One page of those of a workspace, or of all.
    pub async fn schedules(
        &self,
        workspace_id: Option<&str>,
        cursor: Option<&str>,
    ) -> Result<SchedulePage, Error> {
        let path = match workspace_id {
            Some(id) => vec!["workspaces", id, "schedules"],
            None => vec!["schedules"],
        };
        let request = self.request(Method::GET, &path);
        self.answer(request.query(&cursor.map(|cursor| [("cursor", cursor)]))).await
    }

    pub async fn schedule(&self, id: &str) -> Result<Schedule, Error> {
        self.answer(self.request(Method::GET, &["schedules", id])).await
    }

    pub async fn patch_schedule(&self, id: &str, patch: &PatchSchedule) -> Result<Schedule, Error> {
        self.answer(self.request(Method::PATCH, &["schedules", id]).json(patch)).await
    }

    pub async fn remove_schedule(&self, id: &str) -> Result<(), Error> {
        self.no_answer(self.request(Method::DELETE, &["schedules", id])).await
    }

    pub async fn pause_schedule(&self, id: &str) -> Result<Schedule, Error> {
        self.answer(self.request(Method::POST, &["schedules", id, "pause"])).await
    }

    pub async fn resume_schedule(&self, id: &str) -> Result<Schedule, Error> {
        self.answer(self.request(Method::POST, &["schedules", id, "resume"])).await
    }

    /// Fires it now.
    pub async fn run_schedule(&self, id: &str) -> Result<ScheduleRun, Error> {
        self.answer(self.request(Method::POST, &["schedules", id, "run"])).await
    }

    /// One page of what became of its slots, the newest first.
    pub async fn schedule_runs(
        &self,
        id: &str,
        cursor: Option<&str>,
        limit: u32,
    ) -> Result<ScheduleRunPage, Error> {
        let request = self.request(Method::GET, &["schedules", id, "runs"]).query(&[("limit", limit)]);
        self.answer(request.query(&cursor.map(|cursor| [("cursor", cursor)]))).await
    }

    pub async fn preview_schedule(&self, preview: &PreviewSchedule) -> Result<SchedulePreview, Error> {
        self.answer(self.request(Method::POST, &["schedules", "preview"]).json(preview)).await
    }
}
