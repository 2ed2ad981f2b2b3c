/** Prints help, version and mistakes of the command line. */
import { Console, Layer } from "effect"
import { CliConfig, CliOutput, GlobalFlag } from "effect/cli"
import { helpText } from "./helpText.ts"
import { pageWidth } from "./layout.ts"
import { mistakeText } from "./mistakeText.ts"

/** Prints requested help to standard output, and mistakes to standard error in few lines. */
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

/** Without Effect's flag for logging: servers have their own. */
const builtIns = [GlobalFlag.Help, GlobalFlag.Version, GlobalFlag.Completions]

export const layerPresentation = Layer.merge(CliOutput.layerPresenter(presenter), CliConfig.layer({ builtIns }))
