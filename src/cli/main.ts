#!/usr/bin/env node
/** The `sealgate` command. */
import * as NodeServices from "@effect/platform-node/NodeServices"
import { Effect } from "effect"
import { Command } from "effect/cli"
import { SOFTWARE } from "../domain/software.ts"
import { chatCommand } from "./chatCommand.ts"
import { connectCommand } from "./connectCommand.ts"
import { doctorCommand } from "./doctorCommand.ts"
import { joinPins } from "./flags.ts"
import { agentsCommand, jobsCommand, statsCommand } from "./gateway/listCommands.ts"
import { runCommand } from "./gateway/runCommand.ts"
import { gatewayCommand } from "./gatewayCommand.ts"
import { keygenCommand, pinCommand } from "./keyCommands.ts"
import { proxyCommand } from "./proxyCommand.ts"
import { runUntilSignal } from "./run.ts"
import { tokenCommand } from "./tokenCommand.ts"
import { verifyCommand } from "./verifyCommand.ts"

const sealgate = Command.make("sealgate").pipe(
  Command.withDescription(
    "Sealed completions: prompts that only your proxy can read, answers that only it can have given.",
  ),
  Command.withSubcommands([
    proxyCommand,
    gatewayCommand,
    connectCommand,
    chatCommand,
    keygenCommand,
    pinCommand,
    tokenCommand,
    verifyCommand,
    doctorCommand,
    agentsCommand,
    runCommand,
    jobsCommand,
    statsCommand,
  ]),
)

runUntilSignal(
  Command.runWith(sealgate, { version: SOFTWARE.slice(SOFTWARE.indexOf("/") + 1) })(
    joinPins(process.argv.slice(2)),
  ).pipe(Effect.provide(NodeServices.layer)),
)
