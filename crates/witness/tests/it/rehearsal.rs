//! Rehearsals of real programs.

mod stage;

use model::rehearsal::{End, Role};
use stage::{Stage, file};

#[test]
fn the_files_of_cat_are_seen_and_its_exit_status() {
    let stage = Stage::new().file("a", 5000);
    let sheet = stage.run(&["cat", "a"]);
    let a = file(&sheet, &stage.path("a"));
    assert_eq!((a.opens.times, a.opens.reading, a.opens.writing), (1, 1, 0), "{a:?}");
    assert_eq!((a.bytes_before, a.bytes_after), (Some(5000), Some(5000)));
    assert!(a.named && !a.created && !a.removed && a.role == Role::Data, "{a:?}");
    assert_eq!(sheet.end, Some(End::Exited(0)));
    assert_eq!((sheet.processes, sheet.threads), (1, 1));
    let io = sheet.totals.unwrap().io.unwrap();
    assert!(io.rchar >= 5000 && io.wchar >= 5000, "{io:?}");
    let is_data = |file: &&model::rehearsal::FileUse| file.role == Role::Data;
    assert_eq!(sheet.files.iter().filter(is_data).count(), 1, "{sheet:#?}");
    assert!(sheet.unseen.is_empty(), "{:?}", sheet.unseen);
    assert_eq!(stage.run(&["cat", "missing"]).end, Some(End::Exited(1)));
}
