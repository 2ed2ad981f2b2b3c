/** The ledger as CSV (RFC 4180), with a header row. */
import { Record, Schema } from "effect"
import { LedgerEntry } from "./ledger.ts"

const encode = Schema.encodeSync(LedgerEntry)
const COLUMNS = Record.keys(LedgerEntry.fields)
const END_OF_LINE = "\r\n"

/** Beginnings of cells that spreadsheets would run as formulas. Callers choose the names of models and tenants. */
const FORMULA = /^[=+\-@\t\r]/

const cell = (value: unknown): string => {
  if (value === null || value === undefined) return ""
  if (typeof value === "number") return String(value)
  const text = typeof value === "string" ? value : JSON.stringify(value)
  const inert = FORMULA.test(text) ? `'${text}` : text
  return /[",\r\n]/.test(inert) ? `"${inert.replaceAll('"', '""')}"` : inert
}

const line = (cells: ReadonlyArray<string>): string => cells.join(",") + END_OF_LINE

/** The names of the columns, which are the members of an entry. */
export const CSV_HEADER = line(COLUMNS)

/** One line per entry. Unknown values are empty. Text that begins like a formula has a `'` before it. */
export const csvOf = (entries: ReadonlyArray<LedgerEntry>): string =>
  entries
    .map((entry) => {
      const encoded = encode(entry)
      return line(COLUMNS.map((name) => cell(encoded[name])))
    })
    .join("")
