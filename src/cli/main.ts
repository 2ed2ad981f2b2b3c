#!/usr/bin/env node
/**
 * The `sealgate` command. Whatever Node it is started with can read this file, so that an old one is told of: what it
 * leads to imports modules that old ones do not have.
 */
import { whyTooOld } from "./nodeVersion.ts"

const problem = whyTooOld(process.versions.node, process.execPath)
if (problem === undefined) void import("./start.ts").then(({ start }) => start())
else {
  process.stderr.write(`${problem}\n`)
  process.exitCode = 1
}
