#!/usr/bin/env node
/**
 * The `sealgate` command. Old versions of Node can run this file and report that they are too old. All other modules are
 * imported afterwards, because they need newer versions.
 */
import { whyTooOld } from "./nodeVersion.ts"

const problem = whyTooOld(process.versions.node, process.execPath)
if (problem === undefined) void import("./start.ts").then(({ start }) => start())
else {
  process.stderr.write(`${problem}\n`)
  process.exitCode = 1
}
