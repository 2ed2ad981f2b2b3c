/** `node scripts/settingsTable.ts`: prints the settings table of docs/settings.md. */
import { settingsTable } from "../test/support/settingsTable.ts"

console.log(settingsTable())
