#!/usr/bin/env node
/** The `sealgate` command. */
import * as NodeServices from "@effect/platform-node/NodeServices"
import { Effect } from "effect"
import { Command } from "effect/cli"
import { SOFTWARE } from "../domain/software.ts"
import { connectCommand } from "./connectCommand.ts"
import { gatewayCommand } from "./gatewayCommand.ts"
import { keygenCommand, pinCommand } from "./keyCommands.ts"
import { proxyCommand } from "./proxyCommand.ts"
import { runUntilSignal } from "./run.ts"
import { tokenCommand } from "./tokenCommand.ts"

const sealgate = Command.make("sealgate").pipe(
  Command.withDescription(
    "Sealed completions: prompts that only your proxy can read, answers that only it can have given.",
  ),
  Command.withSubcommands([proxyCommand, gatewayCommand, connectCommand, keygenCommand, pinCommand, tokenCommand]),
)

runUntilSignal(
  Command.run(sealgate, { version: SOFTWARE.slice(SOFTWARE.indexOf("/") + 1) }).pipe(
    Effect.provide(NodeServices.layer),
  ),
)
