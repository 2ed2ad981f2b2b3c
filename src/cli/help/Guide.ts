import { Context } from "effect"
import { Command } from "effect/cli"
import type { Setting } from "../../layers/config/Setting.ts"
import type { Row } from "./layout.ts"

/** Help for a command beyond its flags. */
export interface GuideShape {
  /** Settings that the command reads. */
  readonly settings?: Readonly<Record<string, Setting<unknown>>>
  /** Variables to list first. */
  readonly first?: ReadonlyArray<string>
  /** Other variables that it reads. */
  readonly environment?: ReadonlyArray<Row>
  readonly exits?: Readonly<Record<number, string>>
  /** Next steps. */
  readonly next?: string
  /** Terms that newcomers do not know. */
  readonly words?: ReadonlyArray<Row>
}

export class Guide extends Context.Service<Guide, GuideShape>()("sealgate/cli/help/Guide") {}

/** Adds a guide to a command's help. */
export const withGuide = (guide: GuideShape) => Command.annotate(Guide, guide)

export const MISUSED = "called wrongly, or not given what it needs"
/** Meaning of exit code 130, except for servers. */
export const INTERRUPTED = "ended by Ctrl-C or another signal before it was done"

/** Exit codes of the commands that serve until they are stopped. */
export const SERVER_EXITS = {
  0: "stopped by SIGTERM or Ctrl-C after all requests in flight ended",
  1: "a mistake in the settings, a port in use, or a failure",
  2: MISUSED,
  130: "a second signal cut requests off",
}

export const rowsOf = (...settings: ReadonlyArray<Setting<unknown>>): ReadonlyArray<Row> =>
  settings.map(({ summary, variable }) => ({ name: variable, text: summary }))
