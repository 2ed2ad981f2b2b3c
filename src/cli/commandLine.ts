/** The `sealgate` command, with everything it needs. */
import * as NodeServices from "@effect/platform-node/NodeServices"
import { Effect } from "effect"
import { Command } from "effect/cli"
import { SOFTWARE } from "../domain/operations/software.ts"
import { attestCommand } from "./attestCommand.ts"
import { chatCommand } from "./chatCommand.ts"
import { conformanceCommand } from "./conformanceCommand.ts"
import { connectCommand } from "./connectCommand.ts"
import { doctorCommand } from "./doctorCommand.ts"
import { askedForHelp, joinPins } from "./flags.ts"
import { agentsCommand } from "./gateway/agentsCommand.ts"
import { auditCommand } from "./gateway/auditCommand.ts"
import { jobsCommand } from "./gateway/jobsCommand.ts"
import { keysCommand } from "./gateway/keys/keysCommand.ts"
import { schedulesCommand } from "./gateway/schedulesCommand.ts"
import { secretsCommand } from "./gateway/secretsCommand.ts"
import { routingCommand } from "./gateway/routingCommand.ts"
import { statsCommand } from "./gateway/statsCommand.ts"
import { threadsCommand } from "./gateway/threadsCommand.ts"
import { modelsCommand } from "./modelsCommand.ts"
import { runCommand } from "./gateway/runCommand.ts"
import { gatewayCommand } from "./gatewayCommand.ts"
import { withHelp } from "./help/Guide.ts"
import { layerPresentation } from "./help/presentation.ts"
import { callerKeyCommand } from "./callerKeyCommand.ts"
import { keygenCommand, pinCommand } from "./attestationKeyCommands.ts"
import { proxyCommand } from "./proxyCommand.ts"
import { runUntilSignal } from "./runUntilSignal.ts"
import { serves } from "./servers.ts"
import { layerSources, SOURCE_FLAGS } from "./settings/sources.ts"
import { configCommand } from "./configCommand.ts"
import { tokenCommand } from "./tokenCommand.ts"
import { verifyCommand } from "./verifyCommand.ts"

export const sealgate = Command.make("sealgate").pipe(
  withHelp({
    description: `Sealed completions: only your proxy can read the prompts, and only it can have given the answers. And a gateway for
agents that check each other's answers.`,
    examples: [
      ["sealgate proxy", "1. Run a sealed proxy. It prints its pin and the address of its console"],
      [
        'sealgate chat "Hello"',
        "2. Ask it from another terminal in the same folder. From elsewhere, add --proxy and --pin",
      ],
      ["sealgate gateway --dev", "Or run the agent gateway. It prints a token and how to use it"],
    ],
    words: {
      sealed: "encrypted on your machine for the proxy alone: nothing on the path can read or change it",
      "attestation key":
        "the key that signs a proxy's statements; `sealgate proxy` creates one, and so does `sealgate keygen`",
      pin: "the id of a proxy's attestation key. Clients trust only the pins that you give them; ask the proxy's operator",
      receipt: "signed by the proxy for each answer: the request, the provider, the model and the time",
      proof: "signed by the proxy for each stream: it arrived complete, in order and unchanged",
      evidence: "prompt, answer and the data that proves them to others later",
    },
    next: "`sealgate <command> --help` has examples, defaults and settings. For completions in your shell: `sealgate --completions bash >> ~/.bashrc`.",
  }),
  Command.withSubcommands([
    { group: "SERVERS", commands: [proxyCommand, gatewayCommand, configCommand] },
    { group: "CLIENTS OF A PROXY", commands: [chatCommand, connectCommand, modelsCommand] },
    {
      group: "KEYS AND CHECKS OF A PROXY",
      commands: [doctorCommand, verifyCommand, attestCommand, pinCommand, keygenCommand, callerKeyCommand],
    },
    {
      group: "CLIENTS OF A GATEWAY",
      commands: [
        runCommand,
        jobsCommand,
        agentsCommand,
        threadsCommand,
        schedulesCommand,
        keysCommand,
        secretsCommand,
        routingCommand,
        statsCommand,
        auditCommand,
        tokenCommand,
      ],
    },
    { group: "FOR IMPLEMENTERS OF THE PROTOCOL", commands: [conformanceCommand] },
  ]),
  Command.withGlobalFlags(SOURCE_FLAGS),
)

export const runCommandLine = (): void => {
  const args = process.argv.slice(2)
  runUntilSignal(
    Command.runWith(sealgate, { version: SOFTWARE.slice(SOFTWARE.indexOf("/") + 1) })(
      joinPins(askedForHelp(args)),
    ).pipe(Effect.provide([NodeServices.layer, layerPresentation, layerSources(args)])),
    serves(args),
  )
}
