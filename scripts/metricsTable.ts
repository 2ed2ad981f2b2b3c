/** `node scripts/metricsTable.ts`: prints the metrics table of docs/operations.md. */
import { metricsTable } from "../test/support/metricsTable.ts"

console.log(metricsTable())
