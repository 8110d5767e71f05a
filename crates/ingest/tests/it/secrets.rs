//! Secrets planted in files of many kinds are kept out of the index, with the real store.

mod attacks;
mod forms;

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use base64::{Engine, engine::general_purpose::STANDARD_NO_PAD};
use codeinfo_core::{PathMap, task::Tasks};
use codeinfo_embed::{BuiltinEmbedder, Embedder};
use codeinfo_ingest::RunState;
use codeinfo_search::{ResultFreshness, Search, SearchQuery, render_excerpt};
use codeinfo_test_support::ingest::TestIndex;

/// The file of a planted secret, the line with `@` in its place, and its form: `~` keeps this file
/// from looking like it has keys, and `{A36}` is 36 random letters and digits. `{l9}` are lower-case
/// letters, `{n18}` a number of 18 digits in base64, `{B9}` a password of 9 letters with its login in base64.
type PlantedSecret = (&'static str, &'static str, &'static str);

const PLANTED: &[PlantedSecret] = &[
    ("src/cloud.py", "client = boto3.client('s3', aws_access_key_id='@')", "AK~IA{U16}"),
    ("src/cloud.py", "session = Session(aws_secret_access_key=\"@\")", "{b40}"),
    ("config/aws.ini", "aws_secret_access_key = @", "{b40}"),
    ("src/maps.js", "const url = `https://maps.test/js?key=@&v=3`;", "AI~za{u35}"),
    (
        "config/azure.json",
        "{\"conn\": \"AccountName=a;AccountKey=@;EndpointSuffix=core\"}",
        "{b86}==",
    ),
    (
        "src/Storage.cs",
        "var c = \"Endpoint=sb://x/;SharedAccessKeyName=r;SharedAccessKey=@\";",
        "{b43}=",
    ),
    ("src/Entra.java", "private static final String CLIENT_SECRET = \"@\";", "{A3}8Q~~{A34}"),
    ("scripts/release.sh", "export GH_TOKEN=@", "gh~p_{A36}"),
    ("docs/setup.md", "Clone with `git clone https://@github.com/a/b`.", "gh~o_{A36}"),
    ("src/app.go", "const token = \"@\"", "gh~s_{A36}"),
    ("ci/app.yaml", "  refresh: @", "gh~r_{A76}"),
    ("ci/app.yaml", "  pat: \"@\"", "github~_pat_{A22}_{A59}"),
    ("ci/gitlab.yml", "  GITLAB: @", "gl~pat-{A20}"),
    ("ci/gitlab.yml", "  DEPLOY: @", "gl~dt-{A20}"),
    ("ci/bitbucket.yaml", "app: @", "AT~BB{A32}"),
    ("scripts/publish.sh", "npm config set //registry/:_authToken @", "np~m_{A36}"),
    ("setup/release.toml", "pypi = \"@\"", "pypi~-AgEIcHlwaS5vcmc{u60}"),
    ("setup/release.toml", "crates = \"@\"", "ci~o{A32}"),
    ("setup/gem.rb", "Gem.configuration.key = '@'", "ruby~gems_{h48}"),
    ("docker/login.sh", "docker login -u me -p @", "dckr~_pat_{u27}"),
    ("src/slack.py", "client = WebClient('@')", "xox~b-{d12}-{d12}-{A24}"),
    ("src/slack.py", "USER = '@'", "xox~p-{d12}-{d12}-{h32}"),
    ("src/notify.ts", "await fetch('https://hooks.slack.com/services/@');", "T{U9}/B{U9}/{A24}"),
    ("src/pay.rb", "Stripe.api_key = '@'", "sk_~live_{A24}"),
    ("src/pay.rb", "RESTRICTED = '@'", "rk_~live_{A24}"),
    ("src/pay.rb", "endpoint = '@'", "wh~sec_{A32}"),
    ("notes/models.ipynb", "   \"openai.api_key = \\\"@\\\"\\n\",", "s~k-{A48}"),
    ("notes/models.ipynb", "   \"client = OpenAI(key='@')\\n\",", "s~k-proj-{u120}"),
    ("notes/models.ipynb", "   \"os.environ['X'] = '@'\\n\"", "s~k-ant-api03-{u93}"),
    ("config/google.yaml", "client_secret: @", "GOC~SPX-{u28}"),
    ("logs/server.log", "12:01 refreshed @ for 3600 s", "ya~29.{u120}"),
    ("logs/server.log", "12:02 GET /me Authorization: Bearer @", "{A44}"),
    ("logs/server.log", "12:03 session @ accepted", "ey~J{A33}.ey~J{A80}.{u43}"),
    ("src/db.js", "mongoose.connect('mongodb+srv://app:@@cluster.test/x');", "{A18}"),
    ("config/database.yml", "url: postgres://app:@@db.test/app", "{A14}"),
    ("config/database.yml", "  password: @", "{A12}"),
    ("config/application.properties", "spring.datasource.password=@", "{A10}!"),
    ("config/application.properties", "jwt.secret=@", "{h64}"),
    (
        "config/appsettings.json",
        "  \"Default\": \"Server=a;Database=b;User Id=sa;Password=@;\",",
        "{A8}!{d2}",
    ),
    ("config/appsettings.json", "  \"ApiKey\": \"@\",", "{h32}"),
    ("config/appsettings.json", "  \"clientSecret\": \"@\"", "{u40}"),
    ("config/app.toml", "secret_key = \"@\"", "{u50}"),
    ("config/app.toml", "access_token = '@'", "{h40}"),
    ("config/redis.conf", "requirepass @", "{A16}"),
    ("infra/main.tf", "  db_password = \"@\"", "{A16}"),
    ("infra/variables.tf", "variable \"api_token\" {\n  default = \"@\"\n}", "{A32}"),
    ("compose/docker-compose.yml", "      - POSTGRES_PASSWORD=@", "{A12}"),
    ("compose/docker-compose.yml", "      MYSQL_ROOT_PASSWORD: \"@\"", "{A12}"),
    ("k8s/deployment.yaml", "        - name: DB_PASSWORD\n          value: \"@\"", "{A16}"),
    ("k8s/secret.yaml", "apiVersion: v1\nkind: Secret\ndata:\n  db: @", "{b24}"),
    (
        "k8s/kubeconfig.yaml.txt",
        "apiVersion: v1\nkind: Config\nclusters: []\nusers:\n- user:\n    token: @",
        "{A40}",
    ),
    ("pom.xml", "  <password>@</password>", "{A14}"),
    ("web.config.xml", "  <add key=\"ApiToken\" value=\"@\" />", "{A24}"),
    ("npmrc", "//registry/:_authToken=@", "{h36}"),
    ("netrc", "machine a login b password @", "{A12}"),
    ("env", "API=@", "{A24}"),
    ("deploy/credentials2.txt", "@", "{A30}"),
    (
        "deploy/state.json",
        "{\"terraform_version\": \"1\", \"lineage\": \"a\", \"serial\": 1, \"x\": \"@\"}",
        "{A20}",
    ),
    ("keys/age.txt", "@", "AGE-SECRET~-KEY-1{U58}"),
    ("keys/putty.txt", "PuTTY-User-Key-File-3: ssh-rsa\nPrivate-Lines: 1\n@", "{b64}"),
    ("src/mail.php", "$mail = new SendGrid('@');", "S~G.{u22}.{u43}"),
    ("src/mail.php", "$twilio = new Client($sid, 'SK' . '', '@');", "S~K{h32}"),
    ("src/hub.py", "login(token=\"@\")", "h~f_{A34}"),
    ("infra/do.tf", "provider \"digitalocean\" {\n  token = \"@\"\n}", "dop~_v1_{h64}"),
    ("src/bot.py", "bot = telebot.TeleBot('@')", "{d10}:AA{u33}"),
    ("src/bot.js", "client.login('@');", "M{A25}.{A6}.{A38}"),
    ("infra/vault.sh", "vault login @", "hv~s.{A90}"),
    ("jobs/etl.scala", "val token = \"@\"", "da~pi{h32}"),
    ("shop/config.yml", "admin: @", "shp~at_{h32}"),
    ("docs/handover.md", "The staging password is @ and it never expires.", "{A12}"),
];

/// A second list, of forms that the first one lacks. It was made to find gaps of the first rules, which were
/// extended for it since: it shows that the rules find these forms, not how well they find others.
const HELD_OUT: &[PlantedSecret] = &[
    ("app/settings.py", "DATABASES = {'default': {'USER': 'x', 'PASSWORD': '@'}}", "{A9}!x1A"),
    ("app/settings.py", "SECRET_KEY = 'django-insecure-@'", "{A50}"),
    (
        "app/config.rb",
        "Aws.config.update(credentials: Aws::Credentials.new('@', ENV['S']))",
        "AS~IA{U16}",
    ),
    ("app/Main.kt", "val apiKey: String = \"@\"", "{h32}"),
    ("app/lib.rs", "pub const API_TOKEN: &str = \"@\";", "{A40}"),
    ("app/page.html", "<script>firebase.init({apiKey: \"@\"})</script>", "AI~za{u35}"),
    (
        "app/client.swift",
        "request.setValue(\"Bearer @\", forHTTPHeaderField: \"Authorization\")",
        "{A48}",
    ),
    ("app/send.go", "req.SetBasicAuth(\"api\", \"@\")", "key~-{h32}"),
    ("ops/values.yaml", "  adminPassword: @", "{A10}"),
    ("ops/values.yaml", "  smtp: {user: a, pass: \"@\"}", "{A12}"),
    ("ops/values.yaml", "  encryptionKey: \"@\"", "{h64}"),
    ("ops/values.yaml", "  dsn: https://@@o1.ingest.test/2", "{h32}"),
    ("ops/ansible.ini", "ansible_ssh_pass=@", "{A12}"),
    ("ops/ansible.ini", "ansible_become_password = @", "{A12}"),
    ("ops/odbc.ini", "PWD=@", "{A10}"),
    ("ops/my.cnf", "password = @", "{A12}"),
    ("ops/wg0.conf", "PrivateKey = @", "{b43}="),
    ("ops/alertmanager.yml", "api_url: https://hooks.slack.com/services/@", "T{U10}/B{U10}/{A24}"),
    ("ops/Dockerfile", "ENV NPM_TOKEN=@", "np~m_{A36}"),
    ("ops/Dockerfile", "ARG API_SECRET=@", "{A24}"),
    ("ops/Jenkinsfile", "sh \"curl -u admin:@ https://ci.test\"", "{h34}"),
    ("ops/run.ps1", "$env:AZURE_CLIENT_SECRET = \"@\"", "{A3}8Q~~{A34}"),
    ("ops/backup.sh", "mysqldump -u root --password=@ db", "{A14}"),
    ("ops/backup.sh", "export RESTIC_PASSWORD='@'", "{A20}"),
    ("ops/app.plist", "<key>ApiSecret</key>\n<string>@</string>", "{A32}"),
    ("ops/users.sql", "CREATE USER app IDENTIFIED BY '@';", "{A14}"),
    ("ops/dump.csv", "1,fred,@", "$2b$12${A53}"),
    ("ops/postman.json", "{\"key\": \"x-api-key\", \"value\": \"@\"}", "{A40}"),
    ("ops/curl.log", "GET /v1/x?access_token=@&page=2 200", "{A40}"),
    ("ops/cell.ipynb", "   \"x = 1\\n@\\n\",", "gh~p_{A36}"),
    ("ops/row.json", "{\"row\": \"a\\t@\"}", "gh~o_{A36}"),
    ("ops/lines.go", "const text = \"a\\r@\"", "gl~pat-{A20}"),
    ("ops/query.log", "GET /x?next=%2Fy%3Ft%3D@ 200", "gh~s_{A36}"),
    ("ops/cookie.js", "const head = \"Cookie:\\n@\"", "ey~J{A33}.ey~J{A80}.{u43}"),
    ("ops/sent.log", "sent \"user=a\\npwd=@\"", "{A16}"),
    ("ops/flow.xml", "<property name=\"db.password\">@</property>", "{A12}"),
];

/// One for each way to assign a value that no other list has.
const ASSIGNED: &[PlantedSecret] = &[
    ("a.yaml", "password: |\n  @\nuser: fred", "{A14}"),
    ("a.yaml", "db_password: !!str @", "{A14}"),
    ("a.mk", "DB_PASSWORD ?= @", "{A14}"),
    ("b.sh", "mysqldump -u root --password @ db", "{A14}"),
    ("c.json", "{\"password\": \"@\"}", "{A8}\\\"{A8}"),
];

/// One of each kind that is known by its form alone, whatever text is around it.
const FORMS: &str = "\
    AK~IA{U20} AS~IA{U20} AB~IA{U20} AC~CA{U20} AB~SK{b84} amzn~.mws.{u34} AI~za{u34} \
    GOC~SPX-{u24} ya~29.{u24} 1/~/0{u32} dop~_v1_{h44} doo~_v1_{h44} dor~_v1_{h44} HR~KU-{u34} \
    fo~1_{u44} tsk~ey-{u24} LT~AI{A21} AK~ID{A36} gh~p_{A34} gh~o_{A34} gh~u_{A34} gh~s_{A34} \
    gh~r_{A34} githu~b_pat_{A44} glp~at-{u24} gl~dt-{u24} gl~rt-{u24} glc~bt-{u24} glp~tt-{u24} \
    gl~ft-{u24} gls~oat-{u24} glo~as-{u24} gli~mt-{u24} glag~ent-{u24} glf~fct-{u24} AT~BB{A28} \
    ATA~TT3{u54} ATC~TT3{u54} np~m_{A40} pypi~-AgEI{u44} pypi~-AgEN{u44} c~io{A36} \
    ruby~gems_{h44} dckr~_pat_{u24} dckr~_oat_{u24} o~y2{A47} CLOJ~ARS_{h44} AK~Cp{A64} \
    xo~xa-{d12}-{A24} xo~xb-{d12}-{A24} xo~xc-{d12}-{A24} xo~xd-{d12}-{A24} xo~xe-{d12}-{A24} xo~xe.{d12}-{A24} xo~xo-{d12}-{A24} \
    xo~xp-{d12}-{A24} xo~xr-{d12}-{A24} xo~xs-{d12}-{A24} xa~pp-{u24} hooks.slack.~com/services/{u24} \
    hooks.slack.c~om/workflows/{u24} hooks.slack.~com/triggers/{u24} \
    discord.com/~api/webhooks/{u44} discordapp.com~/api/webhooks/{u44} \
    webhook.office~.com/webhookb2/{u44} S~G.{u44} S~K{h36} ke~y-{A36} xkey~sib-{u44} \
    sk_l~ive_{A20} sk_t~est_{A20} rk_l~ive_{A20} rk_t~est_{A20} whs~ec_{b28} sq0~atp-{u26} \
    sq0~csp-{u44} EA~AA{u60} access_token~$production${u36} shp~at_{h36} shp~ca_{h36} \
    shp~pa_{h36} shp~ss_{h36} sk-~ant-{u24} sk-p~roj-{u24} sk-sv~cacct-{u24} sk-a~dmin-{u24} \
    sk-o~r-v1-{h44} s~k-{u36} h~f_{A34} api_~org_{A34} gs~k_{A44} xa~i-{A44} pp~lx-{A44} \
    r~8_{A41} hv~s.{u24} hv~b.{u24} hv~r.{u24} da~pi{h36} AGE-SECR~ET-KEY-1{U44} gl~c_{b36} \
    gl~sa_{A36} NR~AK-{U31} snt~rys_{u44} snt~ryu_{h44} pscal~e_tkn_{u34} pscal~e_pw_{u34} \
    PM~AK-{u44} dp.~pt.{A44} dp.~st.{u44} sb~p_{h44} nf~p_{A40} lin_~api_{A40} nt~n_{A44} \
    fi~gd_{u40} pu~l-{h44} sg~p_{A44} bk~ua_{h44} CCI~PAT_{A44} CFP~AT-{u44} ops~_eyJ{u104} \
    sk.~eyJ{u64} dt0~c01.{u64} $2~a${A54} $2~b${A54} $2~y${A54} $ap~r1${A24} $~6${A44} \
    $argo~n2id${A44} {d10}:AA{u33} {A14}.atlas~v1.{u60} {A3}8Q~~{A34} {h32}-u~s{d2} \
    ey~J{A33}.ey~J{A80}.{u43}";

/// Words that look like secrets to a hasty reader, and must stay.
const KEPT: &[(&str, &str)] = &[
    ("kept/app.yaml", "password: ${DB_PASSWORD}"),
    ("kept/app.yaml", "token: {{ .Values.token }}"),
    ("kept/app.yaml", "secret: <your-token>"),
    ("kept/app.yaml", "api_key: changeme"),
    ("kept/app.yaml", "client_secret: xxxxxxxxxxxxxxxx"),
    ("kept/app.yaml", "password: '********'"),
    ("kept/app.yaml", "access_key: AKIAIOSFODNN7EXAMPLE"),
    ("kept/app.yaml", "token: keyword"),
    ("kept/app.yaml", "secret: true"),
    ("kept/app.yaml", "private_key: /etc/ssl/private/server1.key"),
    ("kept/app.yaml", "password: null"),
    ("kept/app.yaml", "secret: arn:aws:secretsmanager:eu-west-1:123456789012:secret:db-AbCdEf"),
    ("kept/app.yaml", "- arn:aws:secretsmanager:eu-west-1:123456789012:secret:x7Kq2Lm9Zr4tY8wB"),
    ("kept/app.json", "{\"max_tokens\": 4096, \"token\": 12345678, \"password\": \"Passwort\","),
    (
        "kept/app.json",
        " \"passwordLabel\": \"Enter your password 2 times\", \"secretName\": \"db-credentials-2\"}",
    ),
    ("kept/app.ini", "api_key_header = X-Api-Key"),
    ("kept/main.tf", "password = var.db_password"),
    ("kept/main.tf", "token = random_password.api[0].result"),
    ("kept/settings.py", "SECRET_KEY = os.environ['SECRET_KEY']"),
    ("kept/settings.py", "password = get_password(user, realm='default-realm-2024')"),
    ("kept/settings.py", "token = tokens[position + 1]"),
    ("kept/settings.py", "assert client.login(username='fred', password='secret')"),
    ("kept/deploy.sh", "PASSWORD=$(pass show prod/db1)"),
    ("kept/deploy.sh", "TOKEN=\"$1\""),
    ("kept/app.json", " \"nextPageToken\": \"CAEQAhoGx7Kq2Lm9Zr4tY8\","),
    ("kept/bundle.ts", "import('./task-x7Kq2Lm9Zr4tY8wB1nV5cX3dQ6hJ0sF2.js');"),
    ("kept/lexer.rs", "let token = Token::Identifier(\"a_long_identifier_name_2\");"),
    ("kept/lexer.rs", "let url = format!(\"https://{user}:{password}@{host}\");"),
    (
        "kept/Auth.java",
        "String json = \"\"\"\n{\"auths\": {\"a.test\": {\"username\": \"fred\", \"auth\": \"Zm9v\"}}}\n\"\"\";",
    ),
    ("kept/account.py", "FIELDS = [\"service_account\", \"private_key\"]"),
    ("kept/state.go", "var fields = []string{\"terraform_version\", \"lineage\", \"serial\"}"),
    (
        "kept/kube.go",
        "const doc = `\nkind: Config\nclusters: []\nusers:\n- user:\n    token: abc\n`",
    ),
    ("kept/readme.md", "Set `password: <password>` or `https://user:password@host`."),
];

/// Draws numbers that are the same in each run.
struct SecretGenerator(u64);

impl SecretGenerator {
    fn next_below(&mut self, end: usize) -> usize {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).unwrap() % end
    }

    fn make_secret(&mut self, form: &str) -> String {
        const DIGITS: &str = "0123456789";
        const LOWER: &str = "abcdefghijklmnopqrstuvwxyz";
        const UPPER: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZ";
        let mut made = String::new();
        let mut rest = form;
        while let Some((before, after)) = rest.split_once('{') {
            made.push_str(before);
            let (draw, after) = after.split_once('}').unwrap();
            let (kind, count) = draw.split_at(1);
            let alphabet = match kind {
                "A" => [DIGITS, LOWER, UPPER].concat(),
                "h" => "0123456789abcdef".to_owned(),
                "U" => [UPPER, "234567"].concat(),
                "u" => [DIGITS, LOWER, UPPER, "_-"].concat(),
                "b" => [DIGITS, LOWER, UPPER, "+/"].concat(),
                "d" | "n" => DIGITS.to_owned(),
                "l" | "B" => LOWER.to_owned(),
                _ => unreachable!("{kind}"),
            };
            let letters: Vec<char> = alphabet.chars().collect();
            let draw = (0..count.parse().unwrap()).map(|_| letters[self.next_below(letters.len())]);
            let drawn: String = draw.collect();
            match kind {
                "n" => made.push_str(&STANDARD_NO_PAD.encode(drawn)),
                "B" => made.push_str(&STANDARD_NO_PAD.encode(format!("deploy:7{drawn}"))),
                _ => made.push_str(&drawn),
            }
            rest = after;
        }
        made.push_str(rest);
        made.replace("~~", "\u{0}").replace('~', "").replace('\u{0}', "~")
    }
}

/// Makes the values, and the files that hold them.
fn plant_secrets(planted: &[PlantedSecret], seed: u64) -> (Vec<String>, BTreeMap<String, String>) {
    let mut lot = SecretGenerator(seed);
    let mut files: BTreeMap<String, String> = BTreeMap::new();
    let mut values = Vec::new();
    for (path, line, form) in planted {
        let value = lot.make_secret(form);
        // In an address, `@@` is the value and the sign.
        let line = match line.split_once('@') {
            Some((before, after)) => format!("{before}{value}{after}\n"),
            None => format!("{line}\n"),
        };
        let path = path.replace('@', &value);
        files.entry(path).or_default().push_str(&line.replace("&at;", "@"));
        values.push(value);
    }
    (values, files)
}

/// Indexes the planted secrets; returns which of them are in the store or can be found.
async fn find_leaks(planted: &[PlantedSecret], seed: u64) -> Vec<String> {
    let (values, files) = plant_secrets(planted, seed);
    let index = TestIndex::new().await;
    let files: Vec<(&str, &str)> =
        files.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect();
    let repository = index.create_repository("demo", &files);
    let status = index.ingest(&repository).await;
    assert_eq!(status.state, RunState::Completed, "{status:?}");
    let stored = index.list_payloads().await.join("\n");
    let embedder: Arc<dyn Embedder> = Arc::new(BuiltinEmbedder::load(Tasks::default()).unwrap());
    let search = Search::new(index.store.clone(), embedder, PathMap::default());
    let mut leaks = Vec::new();
    for ((path, line, _), value) in planted.iter().zip(&values) {
        let query = SearchQuery::new(value, None, Some(20)).unwrap();
        let mut found = search.find_chunks(&query).await.unwrap();
        // Names of the query itself.
        found.absent.clear();
        found.absent_words.clear();
        let shown =
            render_excerpt(&found, value, &ResultFreshness::default(), &BTreeSet::new(), 1 << 20)
                .text;
        let bare = value.replace('"', "\\\"");
        // No line of a secret over several lines may be left.
        let has_line = bare.lines().any(|line| stored.contains(line));
        if has_line || shown.contains(value.as_str()) {
            leaks.push(format!("{path}: {line}"));
        }
    }
    leaks
}

#[tokio::test(flavor = "multi_thread")]
async fn planted_secrets_are_neither_stored_nor_found() {
    assert_eq!(PLANTED.len(), 70);
    for seed in [1, 2, 3] {
        // A value that only a sentence calls a secret is not known to be one.
        assert_eq!(
            find_leaks(PLANTED, seed).await,
            ["docs/handover.md: The staging password is @ and it never expires."]
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn secrets_of_a_second_list_are_kept_out_as_well() {
    assert_eq!(HELD_OUT.len(), 36);
    assert!(find_leaks(HELD_OUT, 1).await.is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn every_kind_of_token_is_known_in_code() {
    let (index, mut lot) = (TestIndex::new().await, SecretGenerator(11));
    let forms: Vec<(&str, String)> =
        FORMS.split_whitespace().map(|form| (form, lot.make_secret(form))).collect();
    let line = |(number, (_, value)): (usize, &(&str, String))| {
        format!("let text{number} = \"{value}\";\n")
    };
    let code: String = forms.iter().enumerate().map(line).collect();
    index.ingest(&index.create_repository("demo", &[("src/tokens.rs", &code)])).await;
    let stored = index.list_payloads().await.join("\n");
    let last = format!("text{} =", forms.len() - 1);
    assert!(stored.contains(&last), "{stored}");
    let leaks: Vec<&str> =
        forms.iter().filter(|(_, value)| stored.contains(value)).map(|(form, _)| *form).collect();
    assert_eq!(leaks, [""; 0]);
}

#[tokio::test(flavor = "multi_thread")]
async fn secrets_are_kept_out_in_every_form_of_assignment() {
    assert_eq!(find_leaks(ASSIGNED, 1).await, [""; 0]);
}

#[tokio::test(flavor = "multi_thread")]
async fn secrets_that_syntax_separates_from_their_names_are_kept_out() {
    assert_eq!(find_leaks(forms::REPORTED, 1).await, [""; 0]);
    assert!(50 < forms::OWN.len());
    let known = ["src/main.cpp", "ops/pipe.sh"];
    let leaked = find_leaks(forms::OWN, 1).await;
    let leaked: Vec<&str> = leaked.iter().filter_map(|leak| leak.split(':').next()).collect();
    assert_eq!(leaked, known);
}

#[tokio::test(flavor = "multi_thread")]
async fn most_forms_without_a_rule_of_their_own_are_kept_out() {
    assert!(find_leaks(forms::UNSEEN, 1).await.len() <= 7);
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_left_of_a_long_secret() {
    let (index, mut lot) = (TestIndex::new().await, SecretGenerator(5));
    let values = ["{A600}", "{u600}", "{A700}"].map(|form| lot.make_secret(form));
    let ends = values.clone().map(|value| value.get(value.len() - 40..).unwrap().to_owned());
    let [assigned, token, quoted] = values;
    let config = format!("token: {assigned}\nsecret: \"{quoted}\"\nlast: 1\n");
    let code = format!("let text = \"{}{token}\";\n", concat!("ya", "29."));
    index.ingest(&index.create_repository("demo", &[("a.yaml", &config), ("b.rs", &code)])).await;
    let stored = index.list_payloads().await.join("\n");
    assert!(stored.contains("last: 1") && stored.contains("let text ="), "{stored}");
    for end in ends {
        assert!(!stored.contains(&end), "{stored}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn placeholders_of_secrets_are_indexed_unchanged() {
    let index = TestIndex::new().await;
    let mut files: BTreeMap<&str, String> = BTreeMap::new();
    for (path, line) in KEPT {
        files.entry(path).or_default().extend([*line, "\n"]);
    }
    let files: Vec<(&str, &str)> =
        files.iter().map(|(path, text)| (*path, text.as_str())).collect();
    let status = index.ingest(&index.create_repository("demo", &files)).await;
    assert_eq!((status.state, status.message), (RunState::Completed, None));
    assert!(!index.list_payloads().await.join("").contains("[secret]"));
}

#[tokio::test(flavor = "multi_thread")]
async fn replaced_secrets_are_counted_and_lines_stay_where_they_are() {
    let index = TestIndex::new().await;
    let value = SecretGenerator(7).make_secret("gh~p_{A36}");
    let config = format!("a: 1\npassword: {value}\nb: 2\ntoken: {value}x1\n");
    let code = format!("fn a() {{\n    let url = \"https://x:{value}@h\";\n}}\n\nfn b() {{}}\n");
    let repository = index.create_repository(
        "demo",
        &[("a.yaml", &config), ("b.rs", &code), ("c.rs", "fn c() {}\n")],
    );
    let status = index.ingest(&repository).await;
    assert_eq!(status.message.unwrap(), "3 secrets in 2 files replaced by [secret]");
    let chunks = index.describe_chunks().await;
    assert_eq!(chunks["a.yaml"], ["1-4 yaml"]);
    assert_eq!(chunks["b.rs"], ["1-5 rust a"]);
    let text = index.list_payloads().await.join("\n");
    assert!(text.contains("a: 1\\npassword: [secret]\\nb: 2\\ntoken: [secret]"), "{text}");
    assert!(text.contains("https://x:[secret]@h"), "{text}");

    // A file that was not read again is not counted again, and is no change.
    let status = index.ingest(&repository).await;
    assert_eq!((status.state, status.message), (RunState::Skipped, None));
    let embedder: Arc<dyn Embedder> = Arc::new(BuiltinEmbedder::load(Tasks::default()).unwrap());
    let search = Search::new(index.store.clone(), embedder, PathMap::default());
    let found =
        search.find_chunks(&SearchQuery::new("password", None, None).unwrap()).await.unwrap();
    let freshness = search.check_freshness(&found).await.unwrap();
    let shown = render_excerpt(&found, "password", &freshness, &BTreeSet::new(), 12_000).text;
    assert!(shown.contains("password: [secret]") && !shown.contains("changed"), "{shown}");
}
