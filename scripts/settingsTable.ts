/** `node scripts/settingsTable.ts`: prints the settings table of docs/operations.md. */
import { settingsTable } from "../test/support/settingsTable.ts"

console.log(settingsTable())
