type Column = string | readonly [name: string, css: string]

/** The head of a table: the name of each column, and the CSS classes of its cells. */
export const Columns = ({ of }: { readonly of: ReadonlyArray<Column> }) => (
  <thead>
    <tr>
      {of.map((column) => {
        const [name, css] = typeof column === "string" ? [column] : column
        return (
          <th key={name} scope="col" class={css}>
            {name}
          </th>
        )
      })}
    </tr>
  </thead>
)
