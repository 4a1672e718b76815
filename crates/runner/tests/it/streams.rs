//! Byte streams on the runner's line, with a real socket in the box's place.

use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::TcpListener;
use warren_line::{Multiplexer, Side, Target};
use warren_runner::LineApi;

/// A runner's line, and Warren's end of its streams.
fn line() -> (LineApi, Multiplexer) {
    let (runner, warren) = tokio::io::duplex(4_096);
    let (answers, requests) = tokio::io::split(runner);
    let api = LineApi::new(answers, requests);
    let streams = Multiplexer::new(Side::Warren);
    let (reader, mut writer) = tokio::io::split(warren);
    let heard = streams.clone();
    tokio::spawn(async move {
        let mut lines = tokio::io::AsyncBufReadExt::lines(BufReader::new(reader));
        while let Ok(Some(line)) = lines.next_line().await {
            heard.receive(line.as_bytes());
        }
        heard.end();
    });
    let said = streams.clone();
    tokio::spawn(async move {
        while let Some(line) = said.next_line().await {
            if writer.write_all(&line).await.is_err() {
                return;
            }
        }
    });
    (api, streams)
}

// A81, W84
#[tokio::test]
async fn warren_reaches_a_port_in_the_box_and_learns_where_nobody_listens() {
    let (_api, streams) = line();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    tokio::spawn(async move {
        while let Ok((mut connection, _)) = listener.accept().await {
            tokio::spawn(async move {
                let (mut reader, mut writer) = connection.split();
                let _ = tokio::io::copy(&mut reader, &mut writer).await;
            });
        }
    });
    let mut stream = streams.open(Target::Port(port)).unwrap();
    let sent = vec![7; 1 << 20];
    let back = async {
        let (mut reader, mut writer) = tokio::io::split(&mut stream);
        let writing = async {
            writer.write_all(&sent).await.unwrap();
            writer.shutdown().await.unwrap();
        };
        let mut back = Vec::new();
        let (read, ()) = tokio::join!(reader.read_to_end(&mut back), writing);
        read.unwrap();
        back
    };
    let back = tokio::time::timeout(Duration::from_secs(30), back).await.unwrap();
    assert!(back == sent, "{} bytes came back", back.len());
    // A port that was free a moment ago.
    let gone = TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap().port();
    let mut stream = streams.open(Target::Port(gone)).unwrap();
    let error = stream.read(&mut [0; 1]).await.unwrap_err();
    assert_eq!(error.kind(), std::io::ErrorKind::ConnectionReset);
}
