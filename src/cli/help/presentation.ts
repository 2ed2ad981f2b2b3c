/** How the command line shows its help, its version and what was wrong with a call of it. */
import { Console, Layer } from "effect"
import { CliConfig, CliOutput, GlobalFlag } from "effect/cli"
import { helpText } from "./helpText.ts"
import { pageWidth } from "./layout.ts"
import { mistakeText } from "./mistakeText.ts"

/** Help that was asked for is output; a mistake is told on standard error, in few lines, so that it is seen. */
const presenter: CliOutput.Presenter = {
  present: (event) => {
    switch (event._tag) {
      case "Help":
        return Console.log(helpText(event.helpDoc, pageWidth()))
      case "InvalidInvocation":
        return Console.error(mistakeText(event.errors, event.helpDoc))
      case "Version":
        return Console.log(`${event.name} v${event.version}`)
    }
  },
}

/** Logging is the servers' own matter, and flags of theirs say how. */
const builtIns = [GlobalFlag.Help, GlobalFlag.Version, GlobalFlag.Completions]

export const layerPresentation = Layer.merge(CliOutput.layerPresenter(presenter), CliConfig.layer({ builtIns }))
