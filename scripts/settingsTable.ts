/** `node scripts/settingsTable.ts`: prints the settings tables of docs/operations.md and docs/gateway.md. */
import { ownGatewaySettings } from "../src/layers/config/gatewaySettings.ts"
import { proxySettings } from "../src/layers/config/proxySettings.ts"
import { settingsTable } from "../test/support/settingsTable.ts"

console.log(settingsTable(proxySettings))
console.log(`\n${settingsTable(ownGatewaySettings)}`)
