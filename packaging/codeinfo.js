#!/usr/bin/env node
// Runs the program that the package of this platform holds, with these arguments and streams.
"use strict";

const holder = `codeinfo-${process.platform}-${process.arch}`;
const name = process.platform === "win32" ? "codeinfo.exe" : "codeinfo";

function find() {
  try {
    return require.resolve(`${holder}/bin/${name}`);
  } catch {
    console.error(
      `codeinfo: no package ${holder} is installed: either there is none for this platform, ` +
        "or optional dependencies were left out (npm install --include=optional codeinfo)",
    );
    process.exit(1);
  }
}

const program = find();
const given = process.argv.slice(2);

// Taking the place of this process leaves nothing that could change streams, signals or exit codes.
// Windows has the function, which only throws; some versions give no variables unless they are named.
if (process.platform !== "win32" && typeof process.execve === "function") {
  process.emitWarning = () => {};
  process.execve(program, [program, ...given], process.env);
}

// Here, since loading them takes longer than all of the above.
const { spawn } = require("node:child_process");
const { constants } = require("node:os");
const { isatty } = require("node:tty");

const child = spawn(program, given, { stdio: "inherit" });
child.on("error", (error) => {
  console.error(`codeinfo: cannot start ${program}: ${error.message}`);
  process.exitCode = 1;
});
child.on("exit", (code, signal) => {
  if (signal === null) {
    process.exitCode = code;
    return;
  }
  process.removeAllListeners(signal);
  process.kill(process.pid, signal);
  // Where the signal does not end this process, the code is that of shells.
  process.exitCode = 128 + constants.signals[signal];
});
// A terminal sends these to the program, too; a second one would mean "at once".
for (const signal of ["SIGINT", "SIGHUP", "SIGQUIT"]) {
  process.on(signal, () => isatty(0) || child.kill(signal));
}
process.on("SIGTERM", () => child.kill("SIGTERM"));
