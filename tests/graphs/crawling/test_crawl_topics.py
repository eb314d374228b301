"""The classifier of topics: its closed list, its rule, its explanation, and how often it is right."""

from __future__ import annotations

import pytest

from microveil.errors import ParameterError
from microveil.graphs.crawling import OTHER, TOPICS, WordTopics
from microveil.graphs.crawling.topic_words import TOPIC_WORDS
from microveil.graphs.crawling.topics import base_forms, words_of

# written as people write, before any of them was classified; the lists were not changed afterwards
SENTENCES = {
    "Business_Finance": [
        "Shares of the chipmaker fell nine percent after its quarterly results disappointed investors.",
        "My mortgage rate just went up again, how is anyone supposed to buy a house?",
        "The two supermarket chains have agreed on a merger worth four billion.",
        "Opening our second shop next month. Small steps, but the order book is full.",
    ],
    "Disaster_Accident": [
        "Three carriages left the rails near the bridge, dozens are injured.",
        "Rescuers are still digging through the rubble two days after the quake.",
        "Huge fire at the old mill tonight, smoke all over town, stay indoors.",
        "A bus and a lorry collided on the ring road this morning.",
    ],
    "Education": [
        "Handed in my dissertation today, three years of university are over!",
        "Our pupils built a model of the solar system in class.",
        "Why do we still give seven-year-olds two hours of homework?",
        "Revision timetable done, first exam on Monday, wish me luck.",
    ],
    "Entertainment_Culture": [
        "The new album is her best since the debut, especially the last song.",
        "Saw a wonderful exhibition of Dutch portraits at the museum.",
        "Finally finished that series, the last episode broke me.",
        "Tickets for the autumn tour sold out within minutes, the band added two nights.",
    ],
    "Environment": [
        "Half of the reef is bleached, and the water gets warmer every year.",
        "We collected forty bags of plastic along the river on Saturday.",
        "Wind farms now cover a third of our electricity, emissions are down.",
        "Bees are disappearing and hardly anyone notices.",
    ],
    "Health_Medical_Pharma": [
        "Got my second vaccine dose this morning, arm is sore but otherwise fine.",
        "The trial of the new cancer drug looks promising, say doctors.",
        "Six hours in A&E with a broken wrist, the nurses were amazing.",
        "Sleep better: no screens, no caffeine, go to bed at the same hour.",
    ],
    "Hospitality_Recreation": [
        "Best tapas bar in town, order the octopus and a glass of wine.",
        "Packed my suitcase, two weeks of beach start tomorrow.",
        "Slow-cooked lamb tonight, grandma's recipe, house smells incredible.",
        "Any tips for a weekend in Lisbon? Looking for a small hotel near the river.",
    ],
    "Human Interest": [
        "My parents celebrate their golden wedding today, fifty years together!",
        "A stranger paid for my groceries when my card failed. Faith in people restored.",
        "The lost dog walked forty kilometres back to its family.",
        "Twin sisters separated at birth meet for the first time at seventy.",
    ],
    "Labor": [
        "Train drivers walk out on Friday over pay, union leaders confirm.",
        "Two hundred people at the plant lose their jobs before Christmas.",
        "We are hiring! Send your application by the end of the month.",
        "Minimum wage rises to twelve an hour from April.",
    ],
    "Law_Crime": [
        "Man charged with burglary after neighbours filmed him climbing through a window.",
        "The jury needed only two hours to find her guilty.",
        "Someone stole my bike outside the library, lock and all.",
        "The supreme court will hear the appeal in spring.",
    ],
    "Politics": [
        "The prime minister lost the confidence vote by three votes.",
        "Polling stations are open until ten, go and vote!",
        "Senators want to block the bill on campaign donations.",
        "Another debate, another evening of politicians not answering questions.",
    ],
    "Religion_Belief": [
        "The bishop led the Easter service in front of a packed cathedral.",
        "Fasting from dawn to sunset, Ramadan kareem to all who celebrate.",
        "Our pastor spoke about forgiveness this Sunday.",
        "Thousands of pilgrims are walking to Santiago this month.",
    ],
    "Social Issues": [
        "More people sleep rough in our city than ever before, shelters are full.",
        "Women still earn less for the same job, equality is not here yet.",
        "Refugees wait for months in tents without heating.",
        "Thousands marched against racism on Saturday.",
    ],
    "Sports": [
        "What a goal in the last minute, we are through to the final!",
        "She ran the marathon in under two hours twenty.",
        "The coach was sacked after the fifth defeat in a row.",
        "Set point saved, then an ace. Incredible match.",
    ],
    "Technology_Internet": [
        "My phone's battery dies by noon since the last update.",
        "Learning to code at fifty, wrote my first app today.",
        "A leak exposed the passwords of two million users.",
        "The site is down again, did anyone unplug the server?",
    ],
    "Weather": [
        "Snow up to my knees this morning, and more to come.",
        "Thirty-eight degrees and no wind, I am melting.",
        "Thunderstorm rolling in, get the washing off the line.",
        "Fog so thick that you cannot see across the street.",
    ],
    "War_Conflict": [
        "Shelling continued overnight despite the ceasefire.",
        "The army says that rebels have withdrawn from the northern towns.",
        "Two soldiers were killed when their convoy hit a mine.",
        "Negotiators met in Geneva to end nine years of war.",
    ],
    OTHER: [
        "Good night everyone, see you tomorrow.",
        "I really cannot decide which one to pick, help me!",
        "lol same here, every single time",
        "Anyone else awake at this hour?",
        "Thanks a lot, that means so much to me.",
        "Blue or red? Asking for a friend.",
    ],
}
LABELLED = [(text, topic) for topic, texts in SENTENCES.items() for text in texts]


@pytest.mark.spec("06:SG-03")
def test_the_list_of_topics_is_closed_and_has_eighteen() -> None:
    assert TOPICS == (
        "Business_Finance",
        "Disaster_Accident",
        "Education",
        "Entertainment_Culture",
        "Environment",
        "Health_Medical_Pharma",
        "Hospitality_Recreation",
        "Human Interest",
        "Labor",
        "Law_Crime",
        "Politics",
        "Religion_Belief",
        "Social Issues",
        "Sports",
        "Technology_Internet",
        "Weather",
        "War_Conflict",
        "Other",
    )


@pytest.mark.spec("06:SG-03")
def test_nine_of_ten_sentences_are_classified_right() -> None:
    """67 of 74 by their best topic, 70 of 74 if any of the topics found counts."""
    classifier = WordTopics()
    decisions = [(classifier.decision(text), topic) for text, topic in LABELLED]
    assert len(decisions) == 74
    assert sum(decision.label == topic for decision, topic in decisions) >= 67
    assert sum(topic in (decision.topics or (OTHER,)) for decision, topic in decisions) >= 70


def test_the_sentences_are_more_than_their_listed_words() -> None:
    listed = {word for words in TOPIC_WORDS.values() for word in words}
    words = [word for text, _ in LABELLED for word in words_of(text)]
    assert sum(any(form in listed for form in base_forms(word)) for word in words) < 0.25 * len(words)


def test_every_list_has_enough_words_once_each_and_in_small_letters() -> None:
    for topic, words in TOPIC_WORDS.items():
        assert 40 <= len(words) <= 90, topic
        assert len(set(words)) == len(words), topic
        assert all(list(words_of(word)) == [word] for word in words), topic


def test_every_listed_word_is_found_in_its_own_form() -> None:
    classifier = WordTopics(threshold=0.1)
    for topic, words in TOPIC_WORDS.items():
        for word in words:
            assert topic in classifier.decision(word).topics, word


def test_a_word_of_two_topics_counts_half_for_each() -> None:
    decision = WordTopics({"a": ["bank", "loan"], "b": ["bank", "river"]}).decision("The bank by the river")
    assert decision.scores == {"a": 0.5, "b": 1.5}
    assert decision.words == {"a": ("bank",), "b": ("bank", "river")}
    assert decision.topics == ("b",)


def test_a_word_counts_once_however_often_and_in_which_form_it_occurs() -> None:
    assert WordTopics().decision("Vote, voted, voting, votes!").scores == {"Politics": 1.0}


def test_a_word_by_the_way_finds_nothing_in_a_long_text() -> None:
    page = "The judge told the jury that the lawyer and the witness had met in prison, in the rain."
    assert WordTopics().topics(page) == {"Law_Crime"}
    assert WordTopics(share=0.0).topics(page) == {"Law_Crime", "Weather"}


def test_a_higher_threshold_asks_for_more_words() -> None:
    assert WordTopics(threshold=2.0).topics("We had rain.") == set()
    assert WordTopics(threshold=2.0).topics("We had rain and snow.") == {"Weather"}


def test_links_names_and_hashtags_are_no_text() -> None:
    text = "#rain @snow https://a.example/storm www.hail.example #Election2013"
    assert WordTopics().topics(text) == set()
    assert WordTopics(name_other=True).topics(text) == set()
    assert WordTopics(name_other=True).topics("Hello there") == {OTHER}
    assert WordTopics(name_other=True).topics("Hello rain") == {"Weather"}


def test_an_explanation_says_which_words_counted_and_what_was_too_little() -> None:
    decision = WordTopics().decision("A judge, a jury and a lawyer in the rain")
    assert decision.explained() == "Law_Crime: 3.00 (judge, jury, lawyer), found\nWeather: 1.00 (rain), too little"
    assert repr(decision) == "TopicDecision(topics=('Law_Crime',))"
    assert WordTopics().decision("").explained() == ""
    assert WordTopics().decision("").label == OTHER


@pytest.mark.parametrize(
    ("options", "told"),
    [({"threshold": 0.0}, "threshold"), ({"threshold": float("nan")}, "threshold"), ({"share": 1.5}, "share")],
)
def test_impossible_settings_are_refused(options: dict[str, float], told: str) -> None:
    with pytest.raises(ParameterError, match=f"{told} must be"):
        WordTopics(**options)  # type: ignore[arg-type]
