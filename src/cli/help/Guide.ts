import { Context } from "effect"
import { Command } from "effect/cli"
import type { Setting } from "../../layers/config/Setting.ts"
import type { Row } from "./layout.ts"

/** What help says of a command beyond its flags. */
export interface GuideShape {
  /** Settings that the command reads from the environment. */
  readonly settings?: Readonly<Record<string, Setting<unknown>>>
  /** Those of them that matter first. */
  readonly first?: ReadonlyArray<string>
  /** Other environment variables that it reads. */
  readonly environment?: ReadonlyArray<Row>
  readonly exits?: Readonly<Record<number, string>>
  /** What one does before, or next. */
  readonly next?: string
  /** Terms that a newcomer cannot know. */
  readonly words?: ReadonlyArray<Row>
}

export class Guide extends Context.Service<Guide, GuideShape>()("sealgate/cli/help/Guide") {}

/** Adds a guide to a command's help. */
export const withGuide = (guide: GuideShape) => Command.annotate(Guide, guide)

export const MISUSED = "called wrongly, or not given what it needs"
/** Exit code 130 of the commands that do one thing. */
export const INTERRUPTED = "ended by Ctrl-C, or another signal, before it was done"

/** Exit codes of the commands that serve until they are stopped. */
export const SERVER_EXITS = {
  0: "stopped by SIGTERM or Ctrl-C, with every request in flight ended",
  1: "a mistake in the settings, a port that is taken, or a failure",
  2: MISUSED,
  130: "a second signal cut requests off",
}

/** Settings as rows of help. */
export const rowsOf = (...settings: ReadonlyArray<Setting<unknown>>): ReadonlyArray<Row> =>
  settings.map(({ summary, variable }) => ({ name: variable, text: summary }))
