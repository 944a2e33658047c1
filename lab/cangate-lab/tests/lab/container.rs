//! A gateway in a network namespace, with the static program, on the oldest kernel of the lab.

use super::documents::{root, typed};
use super::lab;
use super::script::{parts, printed};

#[test]
#[ignore = "boots a guest"]
fn a_gateway_in_a_network_namespace_as_the_page_states() {
    let Some(_lab) = lab() else { return };
    let program = root().join("target/package/cangate");
    if !program.is_file() {
        eprintln!("SKIPPED because there is no static program: `cargo xtask package` makes it");
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let page = folder.path().join("page.sh");
    std::fs::write(&page, typed("containers.md").concat()).unwrap();
    let arguments = format!(
        "--bench none --kernel 5.10 --timeout 300 --file {}=static --file {}",
        program.display(),
        page.display()
    );
    let text = printed(&arguments, "container.sh");
    let steps = parts(&text);
    let alone: Vec<&str> = steps["alone"].lines().collect();
    assert!(alone[0].starts_with("5.10."), "{alone:?}");
    assert!(alone[1].starts_with("cangate "), "{alone:?}");
    assert_eq!(alone[2..], ["/box/usr/bin/cangate"]);
    let page = steps["page"];
    assert!(!page.contains("status "), "{page}");
    assert!(page.contains("  body  123   [4]  DE AD BE EF"), "{page}");
    assert!(page.contains(" routed. All sums add up."), "{page}");
}
