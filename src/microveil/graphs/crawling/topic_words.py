"""The words by which the classifier of topics knows a topic: our own selection, in base forms and British spelling.

A word may stand in several lists; it then counts less for each of them. `Other` has no words: it is the name for a text
in which no topic was found.
"""

from __future__ import annotations

OTHER = "Other"

_LISTS = {
    "Business_Finance": """
        bank banker bankrupt bankruptcy bond brand budget business buyer cash commerce commercial company consumer
        corporate corporation credit currency customer debt deficit dividend dollar earnings economic economy
        entrepreneur equity euro export factory finance financial firm fund import inflation insurance invest investment
        investor invoice loan manufacturer market merger mortgage price profit recession retailer revenue sales
        shareholder shares startup stock supplier tariff tax trade trader turnover
    """,
    "Disaster_Accident": """
        accident aftershock avalanche blaze burst capsize casualty catastrophe collapse collide collision crash debris
        derail derailment devastation disaster drown earthquake emergency engulf epicentre eruption evacuate evacuation
        evacuee explode explosion fatal fire firefighter flood flooding inferno injured landslide leak magnitude
        meltdown mudslide paramedic quake rescue rescuer rubble shipwreck sink spill survivor tragedy trapped tsunami
        victim volcano wildfire wreck wreckage
    """,
    "Education": """
        academic algebra alumni bachelor campus child classroom college curriculum degree diploma education educational
        essay exam examination faculty freshman geometry graduate graduation grammar headteacher homework kindergarten
        learn learner lecture lecturer lesson literacy math mathematics nursery phd postgraduate preschool principal
        professor pupil scholar scholarship school seminar student study syllabus teach teacher textbook thesis tuition
        tutor undergraduate university
    """,
    "Entertainment_Culture": """
        actor actress album art artist audience author ballet band blockbuster book camera celebrity choir cinema comedy
        composer concert culture dance dancer director drama episode exhibition fashion festival film gallery guitar
        hollywood jazz literature lyrics melody movie museum music musical musician novel novelist opera orchestra
        painter painting playwright poem poet poetry premiere rock sculpture sequel singer song soundtrack stage
        television theatre trailer
    """,
    "Environment": """
        atmosphere biodiversity carbon climate compost conservation conservationist coral deforestation ecological
        ecology ecosystem emission endangered energy environment environmental environmentalist extinct extinction
        footprint forest fossil glacier green greenhouse habitat landfill meadow methane nature ocean organic ozone
        plastic polar pollute pollution rainforest recycle recycling reef renewable river sanctuary sewage smog soil
        solar species sustainability sustainable turbine warming waste wetland wilderness wildlife
    """,
    "Health_Medical_Pharma": """
        allergy antibiotic asthma blood cancer cardiac cardiologist chemotherapy clinic clinical cure dementia dental
        dentist depression diabetes diagnose diagnosis diet disease doctor dose drug epidemic flu gene health healthcare
        heart hospital hygiene immune infection medical medication medicine mental nurse nutrition obesity pain pandemic
        patient pharmaceutical pharmacist pharmacy physician pill pregnancy prescription surgeon surgery symptom
        syndrome therapist therapy treatment tumour vaccinate vaccination vaccine virus vitamin
    """,
    "Hospitality_Recreation": """
        airline backpack bake bakery bar beach beer breakfast brunch cafe camping campsite chef coffee cook cookbook
        cooking cruise cuisine delicious dessert dining dinner dish flavour flight garden gardening getaway hike hiking
        hobby holiday hostel hotel itinerary kitchen landmark leisure lunch luggage meal menu passport picnic recipe
        recreation resort restaurant seaside sightseeing spa suitcase tasty tour tourism tourist travel traveller trip
        vacation wine
    """,
    "Human Interest": """
        adorable adopt adoption anniversary baby birthday bride brother cat cherish cute daughter dog dream elderly
        engagement family father friendship funny generosity grandchild grandfather grandma grandmother grandpa
        gratitude groom heartwarming hero heroic hug husband inspiring kindness kitten lonely lottery memory miracle
        mother neighbour newborn parent pet proposal puppy quirky reunion reunite romance sibling sister smile son
        stranger sweetheart toddler touching twin viral volunteer wedding widow wife
    """,
    "Labor": """
        apprentice apprenticeship bargaining boss career colleague contractor dismissal employ employee employer
        employment freelance hire hiring job jobless jobseeker labour layoff manager minimum occupation overtime
        overworked payroll paycheck pension picket promotion recruit recruiter recruitment redundancy redundant
        resignation retire retirement salary shift staff staffing strike striker trade union unemployed unemployment
        unionise vacancy wage walkout work worker workforce workload workplace
    """,
    "Law_Crime": """
        acquit alibi appeal arrest arson attorney bail burglar burglary convict conviction cop court courtroom crime
        criminal custody defendant detective detain evidence felony fraud guilty handcuff homicide illegal indict
        innocent inmate investigation investigator jail judge jury justice kidnap kidnapping law lawsuit lawyer legal
        litigation magistrate manslaughter mugging murder murderer offence offender parole police policeman prison
        prisoner prosecute prosecution prosecutor rob robber robbery sentence sheriff smuggle statute steal stolen
        suspect testify testimony theft thief trial tribunal verdict witness
    """,
    "Politics": """
        ambassador ballot bill bipartisan cabinet campaign candidate chancellor coalition congress congressman
        conservative constituency constituent constitution debate democracy democrat democratic diplomat diplomatic
        elect election electoral embassy government governor impeach impeachment incumbent legislation legislator
        liberal lobby lobbyist mayor minister ministry nominee opposition parliament parliamentary partisan party policy
        political politician politics poll populist president presidential referendum republican senate senator
        summit treaty veto vote voter
    """,
    "Religion_Belief": """
        allah altar angel atheist baptism belief believer bible biblical bishop blessing buddha buddhism buddhist
        cathedral catholic chapel christ christian christianity church clergy congregation convent creed devotion
        diocese divine easter faith god gospel heaven hindu holy hymn imam islam islamic jesus jewish judaism lent lord
        mass missionary monastery monk mosque muslim nun pastor pilgrim pilgrimage pope pray prayer preach preacher
        priest prophet protestant psalm rabbi ramadan religion religious sacred saint salvation scripture sermon sin
        soul spiritual synagogue temple theology torah vatican worship
    """,
    "Social Issues": """
        abortion abuse activism activist addiction adoption alcoholism bigotry bullying charity citizen community
        deprivation disability disabled discriminate discrimination diversity domestic donate donation equal equality
        eviction exclusion exploitation feminism feminist foodbank gender harassment homeless homelessness homophobia
        humanitarian hunger immigrant immigration inclusion inequality injustice marginalised migrant migration minority
        ngo oppression poor poverty prejudice privilege protest protester race racial racism racist refugee rights
        segregation sexism shelter slum stereotype stigma suicide transgender underprivileged vulnerable welfare
    """,
    "Sports": """
        athlete athletic athletics ball baseball basketball batsman bowler boxer boxing champion championship club coach
        cricket cup cycling cyclist defender derby fixture football footballer game goal goalkeeper golf golfer
        gymnastics halftime hockey innings knockout league marathon match medal midfielder offside olympic olympics
        opponent penalty pitch player playoff quarterback race racket referee relegation rugby runner score scorer
        season semifinal skating skiing soccer sport sprint stadium striker swimmer swimming tackle team tennis
        tournament trophy umpire volleyball winger wrestling
    """,
    "Technology_Internet": """
        algorithm android app automation bandwidth battery blog blogger broadband browser bug chip cloud code coder
        computer computing cyber cybersecurity data database developer device digital download email encryption firewall
        firmware gadget hacker hardware internet iphone keyboard laptop linux malware megapixel microchip microsoft
        mobile modem network offline online password phone pixel podcast processor programmer programming robot robotics
        router screen server smartphone software streaming tablet tech technology upgrade upload url user website
        webcam wifi wireless
    """,
    "Weather": """
        barometer blizzard breeze breezy chilly cloud cloudy cold cyclone degree downpour drizzle drought dry dusk fog
        foggy forecast forecaster freezing frost frosty gale gust hail heatwave humid humidity hurricane icy lightning
        meteorologist mild mist misty monsoon muggy overcast puddle rain rainfall rainstorm rainy scorching shower sleet
        sleety slush snow snowfall snowstorm snowy storm stormy sun sunny sunshine temperature thermometer thunder
        thunderstorm tornado typhoon umbrella weather wind windy winter
    """,
    "War_Conflict": """
        airstrike ally ambush ammunition armed armistice army artillery assault atrocity barracks battalion battle
        battlefield besiege bomb bombard bombardment bomber bombing brigade bullet captive ceasefire colonel combat
        commander conflict coup defence drone enemy fighter frontline genocide grenade guerrilla hostage insurgency
        insurgent invade invasion jihadist marine massacre mercenary militant military militia missile mortar nato navy
        nuclear occupation offensive peacekeeper raid rebel retreat rocket siege sniper soldier squadron tank terrorism
        terrorist torpedo troop truce veteran war warfare warplane warship weapon
    """,
}

TOPIC_WORDS: dict[str, tuple[str, ...]] = {topic: tuple(words.split()) for topic, words in _LISTS.items()}
"""By topic its words; the order is that of the topics."""

TOPICS: tuple[str, ...] = (*TOPIC_WORDS, OTHER)
"""The closed list of topics of Marés (2013), section 6.1."""
