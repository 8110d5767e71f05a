//! Published servers of tools, which npm or pip installs.

use codeinfo_test_support::toolkit::stdio_spec;
use codeinfo_toolkits::spec::ToolkitSpec;

use super::install::{self, PackageParts};

pub(crate) const VERSION: &str = "2026.8.31";

/// A published server, which runs on Node.
pub(crate) fn npm_toolkit_spec(server: &str, arguments: &[&str]) -> ToolkitSpec {
    let package = format!("@modelcontextprotocol/{server}");
    let folder = format!("{server}-{VERSION}");
    let folder = install::install_npm_package(
        &folder,
        &format!("{package}@{VERSION}"),
        PackageParts::Needed,
    );
    let program = folder.join("node_modules").join(package).join("dist/index.js");
    let mut args = vec![program.display().to_string()];
    args.extend(arguments.iter().map(|argument| (*argument).to_owned()));
    stdio_spec(install::find_node().to_str().unwrap(), args)
}

/// A published server, which runs on Python.
pub(crate) fn python_toolkit_spec(package: &str, version: &str) -> ToolkitSpec {
    let requirement = format!("{package}=={version}");
    let python = install::install_python_package(&format!("{package}-{version}"), &requirement);
    stdio_spec(python.with_file_name(package).to_str().unwrap(), Vec::new())
}
