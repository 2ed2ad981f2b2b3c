/** `node scripts/settingsTable.ts`: prints the settings tables of docs/operations.md, from the settings themselves. */
import { proxySettings } from "../src/layers/config/proxySettings.ts"
import { settingsTable } from "../test/support/settingsTable.ts"

console.log(settingsTable(proxySettings))
