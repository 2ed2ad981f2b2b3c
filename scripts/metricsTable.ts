/** `node scripts/metricsTable.ts`: prints the metrics table of docs/monitoring.md. */
import { metricsTable } from "../test/support/metricsTable.ts"

console.log(metricsTable())
