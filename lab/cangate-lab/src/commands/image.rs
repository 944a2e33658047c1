//! `cangate image`: a gateway without an operating system.

use crate::cli::image::Image;
use console::Failure;
use console::input::read_source;
use console::output;
use std::fs;
use std::path::{Path, PathBuf};

pub(crate) fn run(args: &Image, color: bool) -> Result<(), Failure> {
    let source = read_source(&args.file)?;
    let file = Some(&*args.file).filter(|file| *file != Path::new("-"));
    let files = gateway::run::files_beside(file);
    let kinds = port::PortKinds::standard();
    let (config, warnings) = gateway::config::load_with(&source, &kinds, &files)
        .map_err(|found| Failure::Mistakes(config::render(&source, &found, color)))?;
    eprint!("{}", config::render(&source, &warnings, color));
    let plan = image::plan(&source, &config)
        .map_err(|found| Failure::Mistakes(config::render(&source, &found, color)))?;
    output::file(&args.out)?;
    let template = template(&folder()?)?;
    let mut bytes =
        fs::read(&template.path).map_err(|e| Failure::file("read", &template.path, &e))?;
    image::embed(&mut bytes, &plan).map_err(Failure::input)?;
    // Written completely or not at all: a machine may start from the existing image.
    let whole = args.out.with_extension("new");
    fs::write(&whole, &bytes).map_err(|e| Failure::file("write", &whole, &e))?;
    fs::rename(&whole, &args.out).map_err(|e| Failure::file("write", &args.out, &e))?;
    println!(
        "{}: ports: {}, routes: {}, {} KiB",
        args.out.display(),
        plan.ports.len(),
        plan.routes.routes.len(),
        bytes.len() >> 10
    );
    Ok(())
}

/// Returns the image without a gateway; prints a message if it has to be built first.
pub(crate) fn template(folder: &std::path::Path) -> Result<image::ImageTemplate, Failure> {
    let begin = || eprintln!("building the image with cargo, once for this version of cangate …");
    image::template(image::ImageTarget::Pc, folder, &begin).map_err(Failure::run)
}

/// Returns the folder of templates.
fn folder() -> Result<PathBuf, Failure> {
    let of = |name: &str| {
        std::env::var_os(name)
            .filter(|value| !value.is_empty())
            .map(PathBuf::from)
    };
    of("XDG_CACHE_HOME")
        .or_else(|| Some(of("HOME")?.join(".cache")))
        .map(|folder| folder.join("cangate/image"))
        .ok_or_else(|| {
            let text = "no folder is known in which to build an image: set HOME or XDG_CACHE_HOME";
            Failure::Run(text.to_owned())
        })
}
