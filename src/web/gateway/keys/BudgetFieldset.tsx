import { SelectField, TextField } from "../../shared/Field.tsx"
import { type BudgetFields, NO_BUDGET, type Period, PERIODS } from "./keyForm.ts"

export const PERIOD_TEXT = {
  hour: "per hour",
  day: "per day",
  month: "per month",
  total: "in total",
} as const satisfies Record<Period, string>

export const BudgetFieldset = ({
  budgets,
  mistake,
  onChange,
}: {
  readonly budgets: ReadonlyArray<BudgetFields>
  readonly mistake: string | undefined
  readonly onChange: (budgets: ReadonlyArray<BudgetFields>) => void
}) => {
  const set = (index: number, change: Partial<BudgetFields>) =>
    onChange(budgets.map((budget, at) => (at === index ? { ...budget, ...change } : budget)))
  const unused = PERIODS.find((period) => !budgets.some(({ per }) => per === period))
  return (
    <fieldset class="stack tight">
      <legend>Budgets (optional)</legend>
      {budgets.map(({ cost, per, tokens }, index) => (
        <div key={index} class="columns thin">
          <SelectField
            id={`budget-per-${index}`}
            label="Period"
            value={per}
            options={PERIODS.map((period) => [period, PERIOD_TEXT[period]])}
            onChange={(per) => set(index, { per })}
          />
          <TextField
            id={`budget-cost-${index}`}
            label="US dollars"
            inputMode="decimal"
            isWrong={mistake !== undefined}
            value={cost}
            onText={(cost) => set(index, { cost })}
          />
          <TextField
            id={`budget-tokens-${index}`}
            label="Tokens"
            inputMode="numeric"
            value={tokens}
            onText={(tokens) => set(index, { tokens })}
          />
        </div>
      ))}
      {mistake !== undefined && <p class="small mistake">{mistake}</p>}
      {unused !== undefined && (
        <div>
          <button type="button" class="quiet" onClick={() => onChange([...budgets, { ...NO_BUDGET, per: unused }])}>
            Add a budget {PERIOD_TEXT[unused]}
          </button>
        </div>
      )}
    </fieldset>
  )
}
