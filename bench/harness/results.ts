/** Stores the latest results in `bench/results.json`; running one case replaces only its part. */
import { readFileSync, writeFileSync } from "node:fs"
import { cpus } from "node:os"
import type { Case, Outcome } from "./Case.ts"

const FILE = new URL("../results.json", import.meta.url)

export interface Result extends Outcome {
  readonly title: string
  readonly unit: string
  readonly measured: { readonly date: string; readonly node: string; readonly machine: string }
}

export type Results = Readonly<Record<string, Result>>

const machine = (): string => `${cpus().length} × ${cpus()[0]?.model ?? "unknown"}`

const readResults = (): Results => {
  try {
    // Only `keep` writes this file.
    return JSON.parse(readFileSync(FILE, "utf8")) as Results
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "ENOENT") return {}
    throw error
  }
}

/** Rounds numbers to three significant digits. */
const short = (_: string, value: unknown): unknown => (typeof value === "number" ? Number(value.toPrecision(3)) : value)

export const keep = ({ name, title, unit }: Case, outcome: Outcome): Results => {
  const measured = { date: new Date().toISOString().slice(0, 10), node: process.version, machine: machine() }
  const results: Results = { ...readResults(), [name]: { title, unit, measured, ...outcome } }
  writeFileSync(FILE, `${JSON.stringify(results, short, 2)}\n`)
  return results
}
