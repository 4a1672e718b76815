//! Budgets: what is spent, and the moment it is used up.

use warren_model::{ErrorCode, EventKind};
use warren_testkit::Bed;

// F36
#[tokio::test]
async fn work_begins_while_there_is_budget_and_its_end_is_told_once() {
    for bed in Bed::on_each_store().await {
        let id = bed.workspace().await.id;
        let budgets = &bed.fleet.budgets;
        budgets.set(&bed.operator, id, Some(100)).await.unwrap();
        budgets.charge(id, 60).await.unwrap();
        budgets.check(&bed.row(id).await).await.unwrap();
        budgets.charge(id, 60).await.unwrap();
        budgets.charge(id, 60).await.unwrap();
        let refused = budgets.check(&bed.row(id).await).await.unwrap_err();
        assert_eq!(refused.code, ErrorCode::BudgetExhausted);
        assert_eq!(bed.events(EventKind::WorkspaceBudgetExhausted).await.len(), 1);
        assert_eq!(budgets.get(&bed.operator, id).await.unwrap().spent_micros, 180);
        // The next month begins with nothing spent.
        bed.clock.advance_ms(32 * 24 * 3_600_000);
        budgets.check(&bed.row(id).await).await.unwrap();
    }
}
