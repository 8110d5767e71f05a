//! Reads, compares and lowers the budgets of `budgets.toml`.

/// Lines that a module may be below its budget before the budget has to follow.
const SPARE_LINES: f64 = 800.0;
/// Share of its budget below which a figure is well below it.
const WELL_BELOW: f64 = 0.9;
/// Section of the budgets that count lines.
const LINES: &str = "lines";
const LOWER: &str = "`UPDATE=1 cargo test --test house` lowers the budget";

/// A measured value: its section and name in `budgets.toml`.
pub(crate) struct HouseFigure {
    pub(crate) section: &'static str,
    pub(crate) name: String,
    pub(crate) value: f64,
}

impl HouseFigure {
    pub(crate) fn count_lines(name: String, lines: usize) -> Self {
        Self { section: LINES, name, value: to_float(lines) }
    }

    /// Returns the share of a count as a figure with one decimal, such as percent for a `unit` of 100.
    pub(crate) fn share(name: &str, count: usize, of: usize, unit: f64) -> Self {
        let share = to_float(count) * unit / to_float(of.max(1));
        Self { section: "names", name: name.to_owned(), value: (share * 10.0).round() / 10.0 }
    }

    pub(crate) fn count_names(name: &str, count: usize) -> Self {
        Self { section: "names", name: name.to_owned(), value: to_float(count) }
    }

    fn is_well_below(&self, budget: f64) -> bool {
        let spare = if self.section == LINES { SPARE_LINES } else { 0.0 };
        self.value < budget * WELL_BELOW && self.value + spare < budget
    }
}

fn to_float(count: usize) -> f64 {
    f64::from(u32::try_from(count).unwrap())
}

/// A line of `budgets.toml`: a budget, or a comment, a blank line or the head of a section.
struct BudgetLine<'a> {
    text: &'a str,
    section: &'a str,
    budget: Option<(&'a str, f64)>,
}

fn parse_budgets(text: &str) -> Vec<BudgetLine<'_>> {
    let mut section = "";
    let mut lines = Vec::new();
    for line in text.lines() {
        if let Some(name) = line.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
            section = name;
        }
        let pair = line.rsplit_once(" = ").filter(|_| !line.starts_with('#'));
        let budget = pair.map(|(name, value)| (name.trim_matches('"'), value.parse().unwrap()));
        lines.push(BudgetLine { text: line, section, budget });
    }
    lines
}

/// Returns a sentence for each figure above or well below its budget, without one, or no longer measured.
pub(crate) fn find_faults(figures: &[HouseFigure], budgets: &str) -> Vec<String> {
    let lines = parse_budgets(budgets);
    let mut faults = Vec::new();
    for figure in figures {
        let HouseFigure { section, name, value } = figure;
        let is_same = |line: &&BudgetLine| line.section == *section;
        let mut same_section = lines.iter().filter(is_same).filter_map(|line| line.budget);
        let Some((_, budget)) = same_section.find(|(budgeted, _)| budgeted == name) else {
            faults.push(format!("[{section}] `{name}` is {value} and has no budget: add one"));
            continue;
        };
        if budget < *value {
            faults.push(format!(
                "[{section}] `{name}` is {value}, its budget {budget}: lower it, or raise the budget and say \
                 in the commit what a reader gets for it"
            ));
        } else if figure.is_well_below(budget) {
            faults
                .push(format!("[{section}] `{name}` is {value}, well below its {budget}: {LOWER}"));
        }
    }
    for line in lines {
        let Some((name, _)) = line.budget else { continue };
        if !figures.iter().any(|figure| figure.section == line.section && figure.name == name) {
            faults.push(format!("[{}] `{name}` is measured no more: {LOWER}", line.section));
        }
    }
    faults
}

/// Returns the budgets with those lowered that a figure is well below, and those removed that have none.
pub(crate) fn lower_budgets(figures: &[HouseFigure], budgets: &str) -> String {
    let mut text = String::new();
    for line in parse_budgets(budgets) {
        let new_line = match line.budget {
            None => line.text.to_owned(),
            Some((name, budget)) => {
                let is_same =
                    |figure: &&HouseFigure| figure.section == line.section && figure.name == name;
                match figures.iter().find(is_same) {
                    None => continue,
                    Some(figure) if figure.is_well_below(budget) => {
                        format!("\"{name}\" = {}", figure.value)
                    }
                    Some(_) => line.text.to_owned(),
                }
            }
        };
        text.push_str(&new_line);
        text.push('\n');
    }
    text
}

#[cfg(test)]
const SAMPLE: &str = "\
# Budgets.
[lines]
\"src/a\" = 2000
\"src/gone\" = 10

[names]
\"participles, percent\" = 10.5
";

#[cfg(test)]
fn sample_figures(lines: usize, participles: usize) -> [HouseFigure; 2] {
    let share = HouseFigure::share("participles, percent", participles, 1000, 100.0);
    [HouseFigure::count_lines("src/a".to_owned(), lines), share]
}

#[test]
fn an_update_does_not_raise_a_budget_below_its_figure() {
    let figures = sample_figures(2001, 106);
    let faults = find_faults(&figures, SAMPLE);
    assert_eq!(faults.len(), 3, "{faults:?}");
    assert!(
        faults[0].starts_with("[lines] `src/a` is 2001, its budget 2000: lower it"),
        "{faults:?}"
    );
    assert!(faults[1].contains("is 10.6, its budget 10.5"), "{faults:?}");
    assert_eq!(lower_budgets(&figures, SAMPLE), SAMPLE.replace("\"src/gone\" = 10\n", ""));
}

#[test]
fn a_figure_well_below_its_budget_lowers_it() {
    let figures = sample_figures(1199, 94);
    let faults = find_faults(&figures, SAMPLE);
    assert!(faults[0].contains("is 1199, well below its 2000"), "{faults:?}");
    assert!(faults[1].contains("is 9.4, well below its 10.5"), "{faults:?}");
    assert!(faults[2].contains("`src/gone` is measured no more"), "{faults:?}");
    let lowered = lower_budgets(&figures, SAMPLE);
    let expected =
        "# Budgets.\n[lines]\n\"src/a\" = 1199\n\n[names]\n\"participles, percent\" = 9.4\n";
    assert_eq!(lowered, expected);
    assert_eq!(find_faults(&figures, &lowered), [""; 0]);
}

#[test]
fn a_figure_near_its_budget_is_fine_and_one_without_is_a_fault() {
    let budgets = SAMPLE.replace("\"src/gone\" = 10\n", "");
    assert_eq!(find_faults(&sample_figures(1200, 95), &budgets), [""; 0]);
    let faults = find_faults(&sample_figures(1200, 95), &budgets.replace("src/a", "src/b"));
    assert!(faults[0].contains("`src/a` is 1200 and has no budget"), "{faults:?}");
}
