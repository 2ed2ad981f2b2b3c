import { Context } from "effect"
import { Command } from "effect/cli"
import type { Setting } from "../../layers/config/Setting.ts"
import type { Row } from "./layout.ts"

/** Help for a command beyond its flags. */
export interface GuideShape {
  readonly settings?: Readonly<Record<string, Setting<unknown>>>
  /** Other variables that it reads. */
  readonly environment?: ReadonlyArray<Row>
  readonly exits?: Readonly<Record<number, string>>
  readonly next?: string
  /** Terms that newcomers do not know. */
  readonly words?: Readonly<Record<string, string>>
}

export class Guide extends Context.Service<Guide, GuideShape>()("sealgate/cli/help/Guide") {}

export interface Help extends GuideShape {
  /** For lists of commands. Default: the description. */
  readonly summary?: string
  readonly description: string
  readonly examples: ReadonlyArray<readonly [command: string, purpose: string]>
}

const EXITS = {
  0: "done",
  1: "it failed; the reason is on standard error",
  2: "wrong usage, or missing input",
  130: "interrupted by a signal before it was done",
}

/** Adds help to a command. Of the exit codes, only those with a special meaning are given. */
export const withHelp =
  ({ description, examples, exits, summary = description, ...guide }: Help) =>
  <const Name extends string, Input, E, R, ContextInput>(
    command: Command.Command<Name, Input, ContextInput, E, R>,
  ): Command.Command<Name, Input, ContextInput, E, R> =>
    command.pipe(
      Command.withShortDescription(summary),
      Command.withDescription(description),
      Command.withExamples(examples.map(([command, purpose]) => ({ command, description: purpose }))),
      Command.annotate(Guide, { ...guide, exits: { ...EXITS, ...exits } }),
    )

export const SERVER_EXITS = {
  0: "stopped by SIGTERM or Ctrl-C after all requests in flight ended",
  1: "a port in use, a file that cannot be used, or a failure",
  2: "wrong usage, or a mistake in the settings",
  130: "a second signal cut requests off",
}

export const rowsOf = (...settings: ReadonlyArray<Setting<unknown>>): ReadonlyArray<Row> =>
  settings.map(({ summary, variable }) => ({ name: variable, text: summary }))
