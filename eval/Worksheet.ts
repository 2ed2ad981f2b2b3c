/** Recomputes the calculations of one solution with the calculator. eval/data/README.md explains their notation. */
import type { ToolCall } from "../src/domain/chat/chat.ts"

const NUMBER = String.raw`#?-?[\d.]+`
const CALCULATION = new RegExp(`^(?<a>${NUMBER})(?<sign>[-+*/])(?<b>${NUMBER})(?:=(?<said>-?[\\d.]+))?$`)
const ANSWER = / #(\d+)$/
const TOOLS: Readonly<Record<string, string>> = { "+": "add", "-": "subtract", "*": "multiply", "/": "divide" }
/** Most calls that the product carries out in one turn. */
const MOST_CALLS = 16
/** Hides errors of binary fractions. */
const DIGITS = 12

const calculationOf = (text: string) => {
  const { a, b, said, sign } = CALCULATION.exec(text)?.groups ?? {}
  if (a === undefined || b === undefined || sign === undefined) throw new Error(`"${text}" is not a calculation.`)
  return { a, b, tool: `calculator__${TOOLS[sign]}`, sign, said }
}

/** Whether a stated result is the calculated one, perhaps rounded to the decimals it is stated with. */
const states = (said: string, told: number): boolean => {
  const close = 1e-9 * Math.max(1, Math.abs(told))
  const rounded = Number((told + Math.sign(told) * close).toFixed(said.split(".")[1]?.length ?? 0))
  return [told, rounded].some((value) => Math.abs(Number(said) - value) <= close)
}

export class Worksheet {
  private readonly calculations: ReadonlyArray<ReturnType<typeof calculationOf>>
  private readonly answer: number
  private readonly told: Array<{ readonly input: string; readonly result: number }> = []
  private awaited: ReadonlyArray<readonly [number, string]> = []

  constructor(text: string) {
    this.calculations = text.replace(ANSWER, "").split(" ").map(calculationOf)
    this.answer = Number(ANSWER.exec(text)?.[1] ?? 0) - 1
  }

  /** The results as stated, unless the calculator contradicts them; `undefined` if neither gives one. */
  get results(): ReadonlyArray<number | undefined> {
    return this.calculations.map(({ said }, i) => {
      const told = this.told[i]?.result ?? NaN
      if (!Number.isFinite(told)) return said === undefined ? undefined : Number(said)
      return said !== undefined && states(said, told) ? Number(said) : told
    })
  }

  /** The answer, if a corrected result changes it. */
  get corrected(): string | undefined {
    const result = this.results[this.answer]
    const { said } = this.calculations[this.answer] ?? {}
    return result === undefined || result === Number(said) ? undefined : String(Number(result.toPrecision(DIGITS)))
  }

  /** Takes the results of the calls that were due, and returns those that are due now: new ones, or with corrected operands. */
  next(results: ReadonlyArray<number>): ReadonlyArray<ToolCall["function"]> {
    for (const [i, [at, input]] of this.awaited.entries()) this.told[at] = { input, result: results[i] ?? NaN }
    const known = this.results
    const value = (operand: string) => (operand.startsWith("#") ? known[Number(operand.slice(1)) - 1] : Number(operand))
    const due = this.calculations.flatMap(({ tool, ...operands }, at) => {
      const [a, b] = [value(operands.a), value(operands.b)]
      const input = JSON.stringify({ a, b })
      if (a === undefined || b === undefined || this.told[at]?.input === input) return []
      return [{ at, call: { name: tool, arguments: input } }]
    })
    const turn = due.slice(0, MOST_CALLS)
    this.awaited = turn.map(({ at, call }) => [at, call.arguments])
    return turn.map(({ call }) => call)
  }

  isContradicted(results: ReadonlyArray<number>): boolean {
    return this.calculations.some(({ said }, i) => {
      const told = results[i] ?? NaN
      return said !== undefined && Number.isFinite(told) && !states(said, told)
    })
  }

  /** The calculations without their results, with the operands that the solution states. */
  get questions(): string {
    const stated = (operand: string) => this.calculations[Number(operand.replace(/^#/, "")) - 1]?.said
    const shown = (operand: string) => (operand.startsWith("#") ? (stated(operand) ?? operand) : operand)
    return this.calculations.map(({ a, b, sign }) => `${shown(a)}${sign}${shown(b)}`).join(" ")
  }
}
