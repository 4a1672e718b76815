//! Files that come with messages: all of them are there, or none.

use warren_fleet::{HandedFile, IncomingFile};
use warren_model::{ErrorCode, Limits, Principal};
use warren_testkit::Bed;
use warren_workspace::fs::ByteStream;

fn file(name: &str, text: &'static str) -> IncomingFile {
    let contents: ByteStream = Box::pin(futures_util::stream::iter([Ok(text.as_bytes().into())]));
    IncomingFile { name: name.to_owned(), media_type: None, contents }
}

// X32
#[tokio::test]
async fn what_is_taken_back_leaves_nothing_and_gives_its_room_back() {
    let limits = Limits { max_uploads_bytes: 10, ..Limits::default() };
    for bed in Bed::with_limits(limits).await {
        let row = bed.workspace().await;
        let mut landing = bed.fleet.uploads.land(row.clone(), "first").await.unwrap();
        landing.store(file("a.txt", "12345678")).await.unwrap();
        let full = landing.store(file("b.txt", "12345678")).await.unwrap_err();
        assert_eq!(full.code, ErrorCode::StorageFull);
        landing.take_back().await;
        let mut landing = bed.fleet.uploads.land(row, "second").await.unwrap();
        landing.store(file("a.txt", "12345678")).await.unwrap();
        let kept = landing.keep(&Principal::system("test"));
        assert_eq!(kept.iter().map(|one| one.path.as_str()).collect::<Vec<_>>(), ["uploads/second/a.txt"]);
    }
}

// X33
#[tokio::test]
async fn a_file_that_cannot_be_handed_over_is_named_and_none_of_the_others_arrives() {
    for bed in Bed::on_each_store().await {
        let (from, to) = (bed.workspace().await, bed.workspace().await);
        let mut landing = bed.fleet.uploads.land(from.clone(), "own").await.unwrap();
        landing.store(file("here.txt", "here")).await.unwrap();
        let here = landing.keep(&Principal::system("test"))[0].path.clone();
        let handed = |path: &str| HandedFile { path: path.to_owned(), media_type: None };
        let files = [handed(&here), handed("nowhere.txt")];
        let refused = bed.fleet.uploads.hand_over(&from, to.clone(), "m1", &files).await.unwrap_err();
        assert_eq!((refused.at, refused.error.code), (1, ErrorCode::FileNotFound));
        let landing = bed.fleet.uploads.hand_over(&from, to, "m1", &files[..1]).await.unwrap();
        assert_eq!(landing.keep(&Principal::system("test"))[0].bytes, 4);
    }
}
