import { Console, Effect } from "effect"
import { Argument, Command, Flag } from "effect/cli"
import { ServerUrlText } from "../../layers/config/codecs.ts"
import { jsonFlag } from "../flags.ts"
import { withHelp } from "../help/Guide.ts"
import { printableJson } from "../printable.ts"
import { codeLines } from "./describeCode.ts"
import { bold, dim, green } from "../terminal.ts"

export const urlArgument = Argument.String("url").pipe(
  Argument.withDescription("URL of the sealed proxy"),
  Argument.withSchema(ServerUrlText),
)

export const acceptFlag = Flag.String("accept").pipe(
  Flag.withMetavar("name"),
  Flag.withDescription(
    "Also accept this: a TCB status or advisory of Intel, the product Milan, or a variable that Confidential Space's operator set; may be repeated",
  ),
  Flag.atLeast(0),
)

/** Rules made from evidence expire with it; a policy names a date. */
const NO_END = Number.MAX_SAFE_INTEGER

export const showCommand = Command.make(
  "show",
  { url: urlArgument, accept: acceptFlag, json: jsonFlag("Print what is proven, and the evidence, as JSON") },
  Effect.fn(function* (input) {
    const { askAt, prove, rulesOf } = yield* Effect.promise(() => import("./prove.ts"))
    const asked = yield* askAt(input.url)
    const code = yield* prove(asked, yield* rulesOf(asked, input.accept, NO_END))
    if (input.json) {
      const { kept, ...facts } = code
      return yield* Console.log(printableJson({ ...kept, proven: facts }))
    }
    yield* Console.log(
      [
        `${green("✓")} ${bold(`This evidence is genuine: ${code.format}.`)}`,
        codeLines(code),
        dim("  It proves what runs, not that it should: compare code and configuration with a release that you trust."),
        ...(code.tcb === undefined
          ? []
          : [dim("  Any version of the firmware passes here: compare it with AMD's security bulletins.")]),
      ].join("\n"),
    )
  }),
).pipe(
  withHelp({
    summary: "Show which code a proxy's key is in",
    description: `Asks a proxy for evidence of its code, verifies it against the roots of AMD, Intel and Google, and shows what it proves:
key, code, configuration and hardware. Sends no prompt.`,
    examples: [
      ["sealgate attest show https://proxy.example.com", "For people"],
      ["sealgate attest show https://proxy.example.com --json > evidence.json", "Keep it for `attest verify`"],
    ],
    exits: { 0: "the evidence is genuine", 1: "there is no evidence, or it is not genuine" },
    next: "`sealgate attest policy <url>` makes a policy of it, which `chat` and `connect` take as --policy.",
  }),
)
