import { Console, Effect } from "effect"
import { isSelected, type Result, type TestReport } from "../../conformance/report.ts"
import { CommandFailed, unusable } from "../CommandFailed.ts"
import { printableJson, printableLine } from "../printable.ts"
import { bold, dim, green, red, yellow } from "../terminal.ts"

const MARKS = { pass: green("✓"), fail: red("✗"), skipped: yellow("–") }

const lineOf = ({ must, name, outcome, saw, says }: Result): string =>
  `${MARKS[outcome]} ${bold(must)} ${name}: ${printableLine(says)}\n  ${outcome === "fail" ? red(printableLine(saw)) : dim(printableLine(saw))}`

const verdict = ({ failed, passed, skipped }: TestReport): string => {
  const counts = `${passed} passed, ${failed} failed, ${skipped} skipped.`
  if (failed > 0) return bold(red(counts))
  return passed === 0 ? bold(yellow(`Nothing was checked. ${counts}`)) : bold(counts)
}

/** Shows progress if standard error is a terminal. */
export const progress = () => {
  const isShown = process.stderr.isTTY
  return (_result: Result, done: number, all: number): void => {
    if (isShown) process.stderr.write(`\r${done} of ${all}${done === all ? "\n" : ""}`)
  }
}

/** Prints a report, with passed checks if `all`. Fails the command unless the report is ok. */
export const printReport = Effect.fnUntraced(function* (report: TestReport, json: boolean, all: boolean) {
  const shown = all ? report.results : report.results.filter(({ outcome }) => outcome !== "pass")
  yield* Console.log(json ? printableJson(report) : [...shown.map(lineOf), "", verdict(report)].join("\n"))
  if (!report.ok) return yield* new CommandFailed({ message: "", exitCode: 1 })
})

type Listed = Pick<Result, "must" | "name" | "says">

export const printList = (items: ReadonlyArray<Listed>, json: boolean) =>
  Console.log(
    json
      ? printableJson(items.map(({ must, name, says }) => ({ must, name, says })))
      : items.map(({ must, name, says }) => `${must.padEnd(4)} ${name}: ${says}`).join("\n"),
  )

export const select = <A extends Listed>(items: ReadonlyArray<A>, only: ReadonlyArray<string>) => {
  const found = items.filter((item) => isSelected(item, only))
  return found.length > 0
    ? Effect.succeed(found)
    : Effect.fail(unusable("There is no such id or name; --list shows all of them."))
}
