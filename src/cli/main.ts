#!/usr/bin/env node
/** Old versions of Node can run this file and report that they are too old, so it imports all others afterwards. */
import { whyTooOld } from "./nodeVersion.ts"

const problem = whyTooOld(process.versions.node, process.execPath)
if (problem === undefined) void import("./start.ts").then(({ start }) => start())
else {
  process.stderr.write(`${problem}\n`)
  process.exitCode = 1
}
