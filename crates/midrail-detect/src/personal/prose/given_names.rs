//! Common given names, which tell `name: Jane Miller` from `name: Build Docker`.

use std::sync::OnceLock;

/// In lower case.
const NAMES: &str = "aaron abdul abdullah abigail adam adrian agnes ahmed aisha alan albert alejandra alejandro alessandro alex \
alexander alexandra alexey alexis alfred ali alice alicia alison allison alyssa amanda amber amelia amina amit amy ana anastasia \
anders andrea andreas andrei andrew angel angela anita anja ann anna anne annette annie anthony antoine anton antonio arjun \
arthur ashley astrid audrey austin ava aya barbara beatrice ben benjamin bernard beth betty beverly bill billy bjorn bob \
bobby bogdan bradley brandon brenda brian brittany bruce bruno bryan caleb cameron camille carl carla carlos carmen carol \
caroline carolyn catherine cecilia charles charlie charlotte cheryl chloe chris christian christina christine christopher \
cindy claire clara claudia claudio colin connor craig crystal cynthia daisy dale damien dan daniel daniela danielle david dawn \
deborah debra denis denise dennis derek diana diane diego dieter dimitri dmitri dominic donald donna doris dorothy douglas \
dylan edith eduardo edward edwin elaine eleanor elena elias elizabeth ella ellen emil emily emma eric erica erik erika ernest \
esther ethan eugene eva evan evelyn fatima felix fernando fiona florence florian frances francesca francesco francis francisco \
frank franz fred frederick gabriel gabriela gary george gerald gerard gianluca gina giovanni giulia giuseppe gloria grace grant \
greg gregory guillaume gustav hannah hans harold harry hassan heather heidi heinz helen helena helga henri henrik henry herbert \
hiroshi howard hugo ian ibrahim igor ingrid irene irina isaac isabel isabella isabelle ivan jack jackson jacob jacqueline \
jacques jake james jamie jan jane janet janice jason javier jean jeff jeffrey jennifer jenny jeremy jerry jesse jessica jim \
jimmy joan joanna joe joel johan johann johannes john johnny jon jonas jonathan jordan jorge jose joseph joshua juan juanita \
judith judy julia julian julie jürgen justin karen karin karl kate katherine kathleen kathryn katie katja keith kelly ken kenji \
kenneth kevin khalid kim kimberly klaus kristen kristina kumar kyle lars laura lauren laurent lawrence leah lee lena leo leon \
leonard leslie liam lily linda lindsay lisa logan lori louis louise luca lucas lucia lucy luis luisa lukas luke lynn maciej \
madison magdalena malik manuel marc marco marcus margaret maria mariam marie marilyn mario mark markus marta martha martin \
martina marvin mary mateo mathieu matteo matthew maurice max maya megan mei melanie melissa michael michele michelle miguel \
mike mila milan mohamed mohammed monica monika muhammad mustafa nadia nancy naomi natalia natalie natasha nathan nathaniel neil \
nicholas nicolas nicole nikita nikolai nina noah nora norma olaf oleg olga oliver olivia omar oscar otto owen pablo pamela \
paolo patricia patrick paul paula pavel pedro peggy peter petra phil philip philippe phillip phyllis pierre piotr priya \
rachel rafael rahul raj ralph ramon randy raymond rebecca regina renate ricardo richard rita rob robert roberto robin rodrigo \
roger roland roman ronald rosa rose roy russell ruth ryan sabine sally salma sam samantha samir samuel sandra sanjay santiago \
sara sarah scott sean sebastian sergei sergey sergio sharon sheila shirley silvia simon sofia sonia sophia sophie stanislav \
stefan stefanie stephanie stephen steve steven stuart sunita susan susanne suzanne sven svetlana sylvia takashi tamara tanya \
tatiana teresa terry theodore theresa thomas tiffany tim timothy tina todd tom tomas tommy tony tracy travis tyler ursula \
valentina valerie vanessa vera veronica victor victoria vikram vincent virginia vladimir walter wanda wang wayne wei wendy \
werner william wolfgang xavier yasmin yoko yusuf yuki yuri yvonne zachary zoe \
adele agata agnieszka aiden aiko akira alberto alfonso alfredo alina amir andre andrés angelika anneliese \
annika antje antonia ariana armando arnaud arne axel bärbel beata benedikt bernd bettina birgit boris brigitte britta \
camila carina carlo catarina celine chiara christa christoph cornelia cristina dagmar dariusz davide detlef dirk dominik dorothea \
elisa elisabeth elise elke emilia emilie emilio enrico enrique ewa fabian fabio farah federico felicia ferdinand francois françois \
frauke frida friedrich fritz gabriele georg gerd gerhard gertrud gisela giorgio gisele grzegorz gudrun günter günther hana hanna \
hanne harald hartmut heike heiko heinrich helene helmut henriette hendrik hildegard holger horst ignacio ilse imran ines inga \
inge isabela jakob jana jens jessika joachim joaquim joao joão jochen johanna jolanta jörg josef josefine josé julien juliette jutta \
kaja karolina katarina katharina katrin kerstin kirsten konrad krzysztof kurt lara layla leila leonie lorenzo lothar lucie ludwig \
luigi luís maja małgorzata manfred manuela marcel marcin margarete margit marianne mariana marina marion marlene mathias mathilde \
matthias mehmet merle michal mirjam miriam mohammad moritz nadine natalya nils noemi norbert olivier patrizia paulina \
pauline petr pia rainer ralf raquel reinhard rené renée rolf rosalie rosemarie rudolf rüdiger salvatore sigrid silke simone \
sofie solveig steffen tadeusz tanja theo thorsten tobias torsten ulrich ulrike ute uwe valentin vincenzo viktor viktoria \
volker waltraud wilhelm willem yannick zuzana";

/// Whether a word is one of them.
pub(super) fn is_given_name(word: &str) -> bool {
    static SORTED: OnceLock<Vec<&str>> = OnceLock::new();
    let names = SORTED.get_or_init(|| {
        let mut names: Vec<&str> = NAMES.split_ascii_whitespace().collect();
        names.sort_unstable();
        names
    });
    names.binary_search(&word.to_lowercase().as_str()).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_known_and_words_are_not() {
        assert!(is_given_name("Jane") && is_given_name("MARTIN") && is_given_name("Jürgen"));
        assert!(!is_given_name("Build") && !is_given_name("Install"));
    }
}
