//! The waker that needs nothing but the database: `NOTIFY` without data.
//!
//! It is sent outside of transactions: inside, it makes commits wait for each other.

use async_trait::async_trait;
use sqlx::postgres::PgListener;
use sqlx::{Executor as _, PgPool};
use warren_store::{Error, WakeUps, Waker};

use super::error::translate;

const CHANNEL: &str = "warren_events";
const NOTIFY: &str = "NOTIFY warren_events";

#[derive(Debug)]
pub(super) struct Notifications {
    pool: PgPool,
}

impl Notifications {
    pub(super) fn of(pool: PgPool) -> Self {
        Self { pool }
    }
}

#[async_trait]
impl Waker for Notifications {
    async fn tell(&self) -> Result<(), Error> {
        self.pool.execute(NOTIFY).await.map(drop).map_err(|error| translate(&error))
    }

    async fn listen(&self) -> Result<Box<dyn WakeUps>, Error> {
        let mut listener = PgListener::connect_with(&self.pool).await.map_err(|error| translate(&error))?;
        listener.listen(CHANNEL).await.map_err(|error| translate(&error))?;
        Ok(Box::new(Heard { listener }))
    }
}

struct Heard {
    listener: PgListener,
}

#[async_trait]
impl WakeUps for Heard {
    async fn next(&mut self) -> Result<(), Error> {
        let heard = self.listener.try_recv().await.map_err(|error| translate(&error))?;
        heard.ok_or_else(|| Error::Unavailable("the connection for wake-ups was lost".into()))?;
        while self.listener.next_buffered().is_some() {}
        Ok(())
    }
}
