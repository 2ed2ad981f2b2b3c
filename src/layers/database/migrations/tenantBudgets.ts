/** `budgets` is the tenant's budgets as JSON. A tenant without a row has none. */
export const tenantBudgets: ReadonlyArray<string> = [
  `CREATE TABLE tenant_budgets (
    tenant TEXT PRIMARY KEY,
    budgets TEXT NOT NULL
  )`,
]
