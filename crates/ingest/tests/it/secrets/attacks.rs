//! Secrets by which attacks got past an earlier version of the rules, each with a harmless
//! neighbour.

use std::collections::BTreeMap;

use codeinfo_ingest::RunState;
use codeinfo_test_support::ingest::TestIndex;

use super::{PlantedSecret, SecretGenerator, find_leaks};

/// Forms that were indexed once. Files of several documents or columns have `visible` where text must stay.
const ATTACKED: &[PlantedSecret] = &[
    (
        "k8s/list.yaml",
        "apiVersion: v1\nkind: List\nitems:\n- apiVersion: v1\n  kind: ConfigMap\n  data:\n    \
         list: visible\n- apiVersion: v1\n  kind: Secret\n  data:\n    db: @\n- apiVersion: v1\n  kind: \
         ConfigMap\n  data:\n    last: visible\n",
        "{b24}",
    ),
    (
        "k8s/several.yaml",
        "apiVersion: v1\nkind: Service\nmetadata:\n  name: visible\n---\nkind: \"Secret\"\napiVersion: \
         v1\nstringData:\n  db: @\n---\napiVersion: v1\nkind: ConfigMap\ndata:\n  also: visible\n",
        "{l9}",
    ),
    (
        "k8s/flow.yaml",
        "kind: Secret # of the database\napiVersion: v1\ndata: {db: @}\n---\nkind: Service\n",
        "{b24}",
    ),
    (
        "k8s/list.json",
        "{\"kind\": \"List\", \"items\": [{\"kind\": \"ConfigMap\", \"data\": {\"a\": \"visible\"}},\n \
         {\"data\": {\"db\": \"@\"}, \"kind\": \"Secret\"}]}",
        "{b24}",
    ),
    (
        "docs/k8s.md",
        "```yaml\napiVersion: v1\nkind: Secret\ndata:\n  db: @\n```\nvisible\n",
        "{b24}",
    ),
    ("src/client.py", "headers = {\"Authorization\": \"Basic @\"}", "{B9}"),
    ("src/client.js", "fetch(u, {headers: {Authorization: 'Token @'}})", "{h40}"),
    ("src/client.rb", "req['Authorization'] = \"Token token=\\\"@\\\"\"", "{h32}"),
    ("docs/api.http", "GET /\nAuthorization: Bearer @\n", "{A16}"),
    ("ci/call.sh", "curl -H \"Authorization: Bearer @\" https://x.test", "{l24}"),
    ("ci/call.sh", "curl -H 'Authorization: Basic @' https://x.test", "{B9}"),
    ("ci/call.sh", "curl -H 'X-Api-Key: @' https://x.test", "{h32}"),
    ("ci/call.sh", "curl -u deploy:@ https://x.test", "{l9}"),
    ("ci/call.sh", "curl -udeploy:@ https://x.test", "{l9}"),
    ("ci/call.sh", "curl --user='deploy:@' https://x.test", "{l9}"),
    (
        "src/Blob.cs",
        "var u = \"https://a.blob.test/c?sv=2022&sr=c&sig=@&se=2030\";",
        "{A20}%2B{A22}%3D",
    ),
    ("src/chat.py", "LOGIN = \"@\"", "{n18}.{A6}.{u38}"),
    ("notes/chat.txt", "the bot signs in with @ since May", "{n18}.{A6}.{u27}"),
    ("src/sms.py", "client = twilio.rest.Client(sid, \"@\")", "{h32}"),
    ("src/sms.ts", "const sms = require('twilio')(\n  sid,\n  '@',\n);", "{h32}"),
    ("ci/db.sh", "mysql -u root -p@ app", "{l9}"),
    ("ci/db.sh", "mysqldump -h db \\\n  -u root -p'@' app", "{l9}"),
    ("ci/db.sh", "sshpass -p @ ssh root", "{l9}"),
    ("ci/db.sh", "docker login -u me -p @ registry.test", "{l9}"),
    ("ci/db.sh", "redis-cli -a @ ping", "{l9}"),
    ("ci/db.sh", "PGPASSWORD=@ psql -h db", "{l9}"),
    ("ci/db.sh", "MYSQL_PWD=@ mysql", "{l9}"),
    ("ci/db.sh", "SSHPASS=@ sshpass -e ssh root", "{l9}"),
    ("ci/db.sh", "tool --password @ --verbose", "{l9}"),
    ("ci/db.sh", "tool --password=@", "{l9}"),
    ("ci/jobs.yml", "- run: PGPASSWORD=@ psql -h db", "{l9}"),
    ("ci/jobs.yml", "- run: mysql -uroot -p@ app", "{l9}"),
    ("src/run.py", "os.system(\"mysql -uroot -p@ app\")", "{A10}7"),
    ("db/users.sql", "CREATE USER app WITH PASSWORD '@';", "{l9}"),
    ("db/users.sql", "CREATE USER 'app' IDENTIFIED BY '@';", "{l9}"),
    ("db/users.sql", "ALTER ROLE app WITH LOGIN ENCRYPTED PASSWORD '@';", "{l9}"),
    ("db/users.sql", "CREATE LOGIN app WITH PASSWORD = N'@';", "{l9}"),
    ("db/users.sql", "ALTER USER 'a' IDENTIFIED WITH caching_sha2_password BY '@';", "{l9}"),
    ("db/users.sql", "SET PASSWORD FOR 'app' = PASSWORD('@');", "{l9}"),
    ("src/migrate.go", "db.Exec(\"CREATE USER app WITH PASSWORD '@'\")", "{A9}7"),
    ("config/a.yaml", "credentials:\n  user: visible\n  pw: @", "{l9}"),
    ("config/b.yaml", "ftp_credentials: {user: fred, pass: @}\nnext: visible", "{l9}"),
    ("config/c.yaml", "passwords:\n  admin: @\nnext: visible", "{l9}"),
    ("config/d.yaml", "secrets:\n  sentry: @\nnext: visible", "{A24}"),
    ("config/e.toml", "[app.credentials]\nsentry = \"@\"\n[next]\nvalue = \"visible\"", "{A24}"),
    ("config/f.json", "{\"credentials\": {\"sentry\": \"@\"}, \"next\": \"visible\"}", "{A24}"),
    ("config/g.yaml", "ftp:\n  pw: @\nnext: visible", "{l9}"),
    ("src/far.py", "password = (\n    \"@\"\n)", "{A12}!x1A"),
    ("data/users.csv", "id,user,password,mail\n1,fred,@,visible", "{l9}"),
    ("data/quoted.CSV", "user;password\n\"a;b\";\"@\"", "{l9}"),
    ("data/keys.tsv", "service\ttoken\nci\t@", "{A24}"),
    ("docs/users.md", "| user | password |\n|------|:--------:|\n| visible | `@` |", "{l9}"),
    ("docs/keys.md", "| stage | Token |\n|---|---|\n| visible | @ |", "{A32}"),
    ("src/slack.py", "A = \"@\"", "xo~xb-123456789012-123456789012-{A24}"),
    ("src/slack.py", "B = \"@\"", "xo~xb-{l12}-{l12}-{l24}"),
    ("src/forge.py", "C = \"@\"", "gl~pat-lantern-{A12}"),
    ("src/forge.py", "D = \"@\"", "gl~pat-{l20}"),
];

/// Harmless values in the places of such secrets.
const NEIGHBOURS: &[(&str, &str)] = &[
    ("k8s/a.yaml", "apiVersion: v1\nkind: Secret\ndata:\n  a: {{ .Values.a }}\n"),
    ("k8s/b.yaml", "valuesFrom:\n- kind: Secret\n  name: app-values\n  data: prod.yaml\n"),
    ("k8s/c.json", "{\"kind\": \"ConfigMap\", \"data\": {\"level\": \"debug\"}}"),
    ("src/a.py", "headers = {\"Authorization\": \"Bearer \" + token}"),
    ("src/a.py", "headers[\"Authorization\"] = f\"Bearer {token}\""),
    ("src/a.go", "header(\"Authorization\", \"Basic \" + base64.StdEncoding.EncodeToString(b))"),
    ("src/a.js", "const [, token] = req.headers.authorization.split(\" \");"),
    (
        "docs/a.md",
        "Send `Authorization: Bearer <token>` or `Authorization: Basic dXNlcjpwYXNzd29yZA==`.",
    ),
    ("ci/a.sh", "curl -H \"Authorization: Bearer $TOKEN\" -u \"$USER:$PASS\" https://x.test"),
    (
        "ci/a.sh",
        "docker run -u 1000:1000 -p 8080:80 image && mkdir -p build/out && ssh -p 2222 host",
    ),
    ("ci/a.sh", "mysql -u root -p inventory; mysql -p\"$PW\" app; sshpass -p \"$PW\" ssh host"),
    ("ci/a.sh", "tool --password \"$PW\" --password-file /run/x --password=${PW}"),
    ("ci/a.sh", "PGPASSWORD=\"$DB_PASSWORD\" psql; SSHPASS=$PW sshpass -e ssh host"),
    ("src/a.php", "$options = ['password' => '--password='.$config['password'], 'x' => 'y'];"),
    ("src/a.cs", "var u = \"https://a.test/c?sig=none\"; // What `sig=` is, Azure says."),
    ("src/b.js", "ModuleConfigurationSettings.values.defaultConfigurationOfAllModules();"),
    ("src/c.js", "// Twilio sends 5d41402a to callbacks.\nconst twilio = require('twilio');"),
    ("docs/b.md", "`--password VALUE` sets the password, `--token TOKEN` the token."),
    ("db/a.sql", "CREATE USER app WITH PASSWORD '<password>';"),
    ("db/a.sql", "CREATE TABLE t (password varchar(20) NOT NULL); SELECT 'Sw0rdfish' AS token;"),
    ("config/a.yaml", "secrets:\n  db_password:\n    file: ./db.txt\n  other:\n    external: true"),
    (
        "config/b.yaml",
        "credentials:\n  secretName: db-credentials-2\n  path: /etc/x\n  id: 5f3e9a8b7c6d\n  digest: 5f3e9a8b7c6d7e8f",
    ),
    ("src/far.py", "password = (\n    get_password(\"main-db-2\")\n)\nname = token\n\"a\""),
    ("data/a.csv", "user,password\nfred,<password>\nann,changeme"),
    ("data/b.csv", "name,tokens,count\nKq7Zr4tY8wB1nV5c,123,4"),
    (
        "docs/c.md",
        "| Kind | Token | Meaning |\n|---|---|---|\n| a | PLUS | add |\n| b | NAME_2 | name |",
    ),
    ("docs/d.md", "| Setting | Password |\n|---|---|\n| a | required |"),
    ("src/d.py", "A = 'xoxb-your-token-goes-here-please'; B = 'glpat-not-a-real-token-at-all'"),
    (
        "docs/e.md",
        "Write `http://user:pass;auth=NTLM@h` for `--user user:pass;auth=NTLM`, or `pass%20word`.",
    ),
    (
        "docs/f.md",
        "Authorization: AWS4-HMAC-SHA256 Credential=user1/20240101/us-east-2/es/aws4_request",
    ),
    ("docs/g.md", "default login anonymous password user@domain"),
    ("docs/i.md", "Pass `chain=True`, `--disable-warning=WARN003` or the token `x` to it."),
    ("src/e.clj", "(let [req {:headers {\"cookie\" \"a=U3VwIFdpenpvcmxkCg==\"}}] req)"),
    ("src/f.ts", "const text = 'fruit_cookie=mango.LAa7RX43t2vCrLNcKmNG65H41OkyV02s'"),
    (
        "data/grammar.json",
        "{\"type\": \"IMMEDIATE_TOKEN\",\n \"content\": {\"value\": \"0[xX][0-9a-fA-F]+(_[0-9a-fA-F]+)*\"}}",
    ),
    ("src/App.config", "<assemblyIdentity name=\"a\" publicKeyToken=\"cc7b13ffcd2ddd51\" />"),
    ("chart/templates/secret.yaml", "kind: Secret\ndata:\n  a: {{ .Values.a }}"),
    ("chart/templates/serviceaccount.yaml", "kind: ServiceAccount\nname: {{ .Values.a }}"),
    ("docs/h.md", "-----BEGIN PRIVATE KEY-----\nMIIEowIABAKCAQEAqKpRgnn6yq26...fvY4+te\n-----END"),
];

#[tokio::test(flavor = "multi_thread")]
async fn secrets_that_got_past_earlier_rules_are_kept_out() {
    for seed in [1, 2] {
        assert_eq!(find_leaks(ATTACKED, seed).await, [""; 0]);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn text_around_secrets_is_indexed() {
    let (values, files) = super::plant_secrets(ATTACKED, 1);
    let index = TestIndex::new().await;
    let texts: Vec<(&str, &str)> =
        files.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect();
    index.ingest(&index.create_repository("demo", &texts)).await;
    let stored = index.list_payloads().await.join("\n");
    let wanted: usize = ATTACKED.iter().map(|(_, line, _)| line.matches("visible").count()).sum();
    assert_eq!(stored.matches("visible").count(), wanted, "{stored}");
    // One mark for each, so that no more is replaced than the secrets themselves.
    assert_eq!(stored.matches("[secret]").count(), values.len(), "{stored}");
}

#[tokio::test(flavor = "multi_thread")]
async fn harmless_neighbours_of_secrets_are_indexed_as_they_are() {
    let index = TestIndex::new().await;
    let mut files: BTreeMap<&str, String> = BTreeMap::new();
    for (path, line) in NEIGHBOURS {
        files.entry(path).or_default().extend([*line, "\n"]);
    }
    let texts: Vec<(&str, &str)> =
        files.iter().map(|(path, text)| (*path, text.as_str())).collect();
    let status = index.ingest(&index.create_repository("demo", &texts)).await;
    assert_eq!((status.state, status.message), (RunState::Completed, None));
    let payloads = index.list_payloads().await;
    let marked: Vec<&String> =
        payloads.iter().filter(|payload| payload.contains("[secret]")).collect();
    assert!(marked.is_empty(), "{marked:#?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_secret_in_several_literals_is_replaced_as_a_whole() {
    let (index, mut lot) = (TestIndex::new().await, SecretGenerator(3));
    let parts = ["{A40}", "{A40}", "{A30}"].map(|form| lot.make_secret(form));
    let [first, second, third] = &parts;
    let code = format!("API_TOKEN = (\n    \"{first}\"\n    \"{second}\" +\n    '{third}'\n)\n");
    index.ingest(&index.create_repository("demo", &[("a.py", &code)])).await;
    let stored = index.list_payloads().await.join("\n");
    assert!(stored.contains("API_TOKEN"), "{stored}");
    for part in &parts {
        assert!(!stored.contains(part.as_str()), "{stored}");
    }
}
