/// The console's only style sheet: readable at 320 px, in light and dark, and without colours.
enum ConsoleStyle {
  static let text = """
    :root {
      color-scheme: light dark;
      --ground: #f6f7f9; --paper: #ffffff; --ink: #17202b; --soft: #566273; --line: #d5dae1; --link: #0b57b7;
      --button: #0b57b7; --on-button: #ffffff; --danger: #a61b1b; --notice: #e4f1e6; --problem: #fbe5e5;
    }
    @media (prefers-color-scheme: dark) {
      :root {
        --ground: #10151b; --paper: #1a2129; --ink: #e7ecf2; --soft: #a3afbe; --line: #35404d; --link: #83b7ff;
        --button: #83b7ff; --on-button: #0b1522; --danger: #ff9c9c; --notice: #1c3323; --problem: #3d1f22;
      }
    }
    * { box-sizing: border-box; }
    body { margin: 0; background: var(--ground); color: var(--ink); font: 1rem/1.5 system-ui, sans-serif;
      overflow-wrap: break-word; }
    header { display: flex; flex-wrap: wrap; align-items: center; gap: .25rem 1.25rem; padding: .75rem 1rem;
      background: var(--paper); border-bottom: 1px solid var(--line); }
    header > span { min-width: 0; }
    nav { display: flex; flex-wrap: wrap; gap: .25rem 1rem; flex: 1; }
    main { max-width: 96rem; margin: 0 auto; padding: 1rem; }
    section > p, section > form:not(.search), section > details { max-width: 60rem; }
    time { white-space: nowrap; }
    svg.chart { display: block; width: 100%; max-width: 60rem; height: auto; }
    svg.chart text { fill: var(--soft); font-size: 12px; }
    svg.chart .axis { stroke: var(--line); }
    svg .good { fill: #2c7a3f; stroke: var(--paper); }
    svg .bad { fill: #c03434; stroke: var(--paper); }
    svg .open { fill: #a9761b; stroke: var(--paper); }
    .legend { display: flex; flex-wrap: wrap; gap: .25rem 1.25rem; margin: .25rem 0 .5rem; }
    .key::before { content: ""; display: inline-block; width: .8rem; height: .8rem; margin-right: .4rem; border-radius: .2rem; }
    .key.good::before { background: #2c7a3f; }
    .key.bad::before { background: #c03434; }
    .key.open::before { background: #a9761b; }
    form.search { display: flex; flex-wrap: wrap; align-items: end; gap: .5rem 1rem; margin: 0 0 1rem; }
    form.search label { margin: 0; }
    form.search input { width: auto; }
    form.search label.choice { align-items: center; min-height: 2.75rem; }
    form.search a { padding: .6rem 0; }
    .digits { font-size: 2rem; letter-spacing: .15em; }
    fieldset { border: 1px solid var(--line); border-radius: .375rem; margin: 0; padding: .75rem; min-width: 0; }
    select { font: inherit; min-height: 2.5rem; max-width: 100%; color: inherit; background: var(--ground);
      border: 1px solid var(--soft); border-radius: .375rem; padding: .25rem .5rem; }
    h1 { font-size: 1.5rem; line-height: 1.25; margin: .5rem 0 1rem; }
    h2 { font-size: 1.125rem; margin: 0 0 .75rem; }
    section { background: var(--paper); border: 1px solid var(--line); border-radius: .5rem; padding: 1rem; margin: 0 0 1rem; }
    a { color: var(--link); }
    nav a { padding: .25rem 0; }
    a:focus-visible, button:focus-visible, input:focus-visible, textarea:focus-visible, summary:focus-visible {
      outline: 3px solid var(--link); outline-offset: 2px; }
    .unseen { position: absolute; left: -100rem; }
    section > :first-child { margin-top: 0; }
    section > :last-child { margin-bottom: 0; }
    tbody th { font-weight: 600; }
    tbody th time { font-weight: 400; }
    time { white-space: nowrap; }
    .skip { position: absolute; left: -100rem; }
    .skip:focus { left: .5rem; top: .5rem; background: var(--paper); padding: .5rem; }
    .soft, td small, th small { color: var(--soft); }
    .notice, .problem { padding: .75rem 1rem; border-radius: .5rem; background: var(--notice); }
    .problem { background: var(--problem); }
    table { width: 100%; border-collapse: collapse; }
    th, td { text-align: left; vertical-align: top; padding: .5rem .75rem .5rem 0; border-top: 1px solid var(--line);
      overflow-wrap: anywhere; }
    thead th { border-top: 0; color: var(--soft); font-weight: 600; overflow-wrap: normal; }
    td[data-name=What] { overflow-wrap: normal; }
    td[data-name=By] { overflow-wrap: break-word; }
    td.number { font-variant-numeric: tabular-nums; }
    td form { margin: 0; }
    form { display: block; margin: 0; }
    label { display: block; margin: 0 0 .75rem; }
    label.choice { display: flex; gap: .5rem; align-items: flex-start; }
    label.choice input { margin: .3rem 0 0; width: 1.1rem; height: 1.1rem; flex: none; }
    label small { display: block; color: var(--soft); }
    input[type=text], input[type=number], input[type=search], input[type=date], textarea { display: block; width: 100%; max-width: 26rem; margin-top: .25rem; padding: .5rem;
      font: inherit; color: inherit; background: var(--ground); border: 1px solid var(--soft); border-radius: .375rem; }
    button { font: inherit; min-height: 2.75rem; padding: .4rem 1rem; border-radius: .375rem; border: 1px solid var(--button);
      background: var(--button); color: var(--on-button); cursor: pointer;
      max-width: 100%; overflow-wrap: break-word; }
    /* Not a share of the cell: the table would first make room for the longest word. */
    td button { max-width: 16rem; }
    button.quiet { background: transparent; color: var(--link); }
    button.danger { background: transparent; color: var(--danger); border-color: var(--danger); }
    details { margin: 0 0 .5rem; }
    /* Words of ours: names in other cells leave room for them. */
    summary { cursor: pointer; padding: .5rem 0; color: var(--link); overflow-wrap: normal; }
    pre, code { font: .9375rem/1.5 ui-monospace, monospace; }
    pre { white-space: pre-wrap; overflow-wrap: anywhere; padding: .75rem; background: var(--ground);
      border: 1px solid var(--line); border-radius: .375rem; }
    svg.code { display: block; width: 100%; max-width: 16rem; height: auto; background: #ffffff; margin: 0 0 1rem; }
    /* A table with many columns would break its words: each row becomes a list of named values. */
    @media (max-width: 68rem) {
      table, tbody, td, tbody th { display: block; }
      thead { position: absolute; left: -100rem; }
      tr { display: grid; grid-template-columns: repeat(auto-fill, minmax(min(16rem, 100%), 1fr)); column-gap: 1rem;
        border-top: 1px solid var(--line); padding: .5rem 0; }
      tbody tr:first-child { border-top: 0; }
      td, tbody th { border: 0; padding: .125rem 0; }
      tbody th { grid-column: 1 / -1; }
      td[data-name]::before { content: attr(data-name) ": "; color: var(--soft); }
      td:empty { display: none; }
    }
    @media (max-width: 40rem) {
      nav { order: 1; flex-basis: 100%; }
      header strong { flex: 1; }
    }

    """
}
