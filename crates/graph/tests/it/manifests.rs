//! Imports by the names that manifests give.

use super::ResolvedFiles;

/// Resolves references of `app/a.ts` in a repository with manifests.
#[track_caller]
fn check_manifests(files: &[(&str, &str)], manifests: &[(&str, &str)], expected: &[(&str, &str)]) {
    let texts = manifests.iter().map(|(path, text)| ((*path).to_owned(), (*text).to_owned()));
    let manifests: Vec<(String, String)> = texts.collect();
    let repository = ResolvedFiles::new(files);
    let graph = repository.graph.with_manifests(&manifests);
    let repository = ResolvedFiles { graph, ..repository };
    for (marked, result) in expected {
        assert_eq!(repository.resolve("app/a.ts", marked), *result, "`{marked}`");
    }
}

#[test]
fn packages_of_the_repository_are_found_by_their_names() {
    check_manifests(
        &[
            ("packages/core/src/index.ts", "export const run = 1\n"),
            ("packages/core/src/deep/tool.ts", "export const dig = 1\n"),
            ("packages/core/dist/package.ts", "export const run = 1\n"),
            ("packages/types/lib/index.d.ts", "export const kind: 1\n"),
            ("packages/types/lib/index.js", "exports.kind = 1\n"),
            ("node_modules/react/index.ts", "export const use = 1\n"),
            (
                "app/a.ts",
                "import { run } from '@x/core'\nimport { dig } from '@x/core/tool'\nimport { kind } from 'types'\nimport { use } from 'react'\nimport { corner } from '@x/corer'\n",
            ),
        ],
        &[
            ("packages/core/dist/package.json", r#"{"name": "@x/core", "main": "package.js"}"#),
            (
                "packages/core/package.json",
                r#"{"name": "@x/core", "exports": {".": {"import": "./dist/esm/index.mjs"}, "./*": "./dist/deep/*.js"}}"#,
            ),
            ("packages/types/package.json", r#"{"name": "types", "main": "lib/index.js"}"#),
            ("node_modules/react/package.json", r#"{"name": "react"}"#),
            ("packages/bad/package.json", "{"),
            ("packages/deep/package.json", &"[".repeat(100_000)),
        ],
        &[
            ("{ run", "packages/core/src/index.ts:1 run (Import)"),
            ("{ dig", "packages/core/src/deep/tool.ts:1 dig (Import)"),
            ("{ kind", "packages/types/lib/index.d.ts:1 kind (Import)"),
            ("{ use", "External"),
            ("{ corner", "External"),
        ],
    );
}

#[test]
fn path_mappings_of_the_nearest_configuration_are_followed() {
    check_manifests(
        &[
            ("app/lib/one.ts", "export const one = 1\n"),
            ("lib/one.ts", "export const one = 2\n"),
            ("lib/two.ts", "export const two = 2\n"),
            ("other/three.ts", "export const three = 3\n"),
            (
                "app/a.ts",
                "import { one } from '@/one'\nimport { two } from '@/two'\nimport { three } from 'other/three'\n",
            ),
        ],
        &[
            (
                "tsconfig.json",
                r#"{"compilerOptions": {"baseUrl": ".", "paths": {"@/*": ["lib/*"]}}}"#,
            ),
            (
                "app/tsconfig.json",
                "{ // nearer\n\"compilerOptions\": {\"paths\": {\"@/*\": [\"./lib/*\"],}}}",
            ),
        ],
        &[
            ("{ one", "app/lib/one.ts:1 one (Import)"),
            ("{ two", "lib/two.ts:1 two (Import)"),
            ("{ three", "other/three.ts:1 three (Import)"),
        ],
    );
}
