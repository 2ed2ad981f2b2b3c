#!/usr/bin/env node
/** Runs on old versions of Node too, to report that they are too old. So it imports all other modules after the check. */
import { whyTooOld } from "./nodeVersion.ts"

const problem = whyTooOld(process.versions, process.execPath)
if (problem === undefined) void import("./start.ts").then(({ start }) => start())
else {
  process.stderr.write(`${problem}\n`)
  process.exitCode = 1
}
