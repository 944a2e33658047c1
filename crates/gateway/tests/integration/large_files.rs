//! Configurations of the largest size that is accepted, and one route larger: slow without
//! optimization, and a minute each with it.

use config::SourceText;
use gateway::config::load;
use port::PortKinds;

mod long {
    use super::*;

    #[test]
    #[ignore = "slow without --release"]
    fn a_million_routes_load_and_one_more_does_not() {
        let mut text = String::from("[ports]\na = { kind = 'bus' }\nb = { kind = 'bus' }\n");
        for i in 0..1_000_000 {
            text.push_str(&format!(
                "[[routes]]\nfrom='a'\nto='b'\nid='{:08X}'\n",
                i * 7
            ));
        }
        let source = SourceText::new("t", text);
        let start = std::time::Instant::now();
        let (config, _) = load(&source, &PortKinds::standard()).unwrap();
        println!(
            "{} bytes loaded in {:?}",
            source.text.len(),
            start.elapsed()
        );
        assert_eq!(config.routes.routes.len(), 1_000_000);

        let source = SourceText::new("t", source.text + "[[routes]]\nfrom='a'\nto='b'\n");
        let errors = load(&source, &PortKinds::standard()).unwrap_err();
        assert_eq!(
            errors[0].message,
            "the file has 1000001 routes; the maximum is 1000000"
        );
    }

    /// Every mistake costs little, however many there are.
    #[test]
    #[ignore = "slow without --release"]
    fn a_million_mistakes_are_counted() {
        let mut text = String::from("[ports]\na = { kind = 'bus' }\n");
        for _ in 0..400_000 {
            text.push_str("[[routes]]\nfrom='x'\nto='y'\nx='z'\n");
        }
        let source = SourceText::new("t", text);
        let start = std::time::Instant::now();
        let errors = load(&source, &PortKinds::standard()).unwrap_err();
        println!("{:?}", start.elapsed());
        let last = &errors[errors.len() - 1].message;
        assert_eq!(last, "1199000 more mistakes are not shown");

        let source = SourceText::new("t", "a b\n".repeat(1_000_000));
        let start = std::time::Instant::now();
        let errors = load(&source, &PortKinds::standard()).unwrap_err();
        println!("{:?}", start.elapsed());
        assert_eq!(errors.len(), 1001);
    }
}
